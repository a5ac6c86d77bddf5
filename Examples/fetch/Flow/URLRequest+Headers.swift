import DeferredOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The headers of `-H` and `--netrc`.
extension URLRequest {
    /// The value of a header that is not to be sent, not even one that the system adds: libcurl, under Foundation,
    /// leaves out what has no text. Elsewhere, what Foundation adds cannot be removed.
    static let removedHeader = " "

    mutating func add(_ headers: [Options.Header]) {
        for header in headers {
            guard let value = header.value else { continue }
            // What has several cookies is one header, with its own separator (RFC 6265, 4.2.1).
            if header.name.lowercased() == "cookie", let others = self.value(forHTTPHeaderField: header.name)
            {
                setValue("\(others); \(value)", forHTTPHeaderField: header.name)
            } else {
                addValue(value, forHTTPHeaderField: header.name)
            }
        }
        #if canImport(FoundationNetworking)
        // Of a name that has a value too, that is sent, as by curl.
        for header in headers where header.value == nil && value(forHTTPHeaderField: header.name) == nil {
            setValue(Self.removedHeader, forHTTPHeaderField: header.name)
        }
        #endif
    }

    /// Adds what `--netrc` has for the host, unless the URL or a header has a password.
    mutating func add(_ credentials: Netrc) {
        guard let url, let host = url.host, url.password == nil,
            value(forHTTPHeaderField: "Authorization") == nil,
            let value = credentials.authorization(for: host, login: url.user)
        else { return }
        setValue(value, forHTTPHeaderField: "Authorization")
        self.url = url.withoutUserInfo
    }

    /// Whether a coding was asked for.
    var acceptsCodings: Bool {
        (value(forHTTPHeaderField: "Accept-Encoding") ?? "").split(separator: ",")
            .map { $0.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased() }
            .contains { !["", "identity"].contains($0) }
    }

    /// Returns this request for a mirror: without passwords, unless it is on the same host.
    func forMirror(_ mirror: URL) -> URLRequest {
        var request = self
        request.url = mirror
        if mirror.origin != url?.origin {
            for name in ["Authorization", "Cookie", "Proxy-Authorization"] {
                request.setValue(nil, forHTTPHeaderField: name)
            }
        }
        return request
    }
}

extension URL {
    fileprivate var origin: [String?] {
        [scheme?.lowercased(), host?.lowercased(), port.map(String.init) ?? scheme?.lowercased()]
    }
}

extension TransferRedirect {
    /// Returns the next request with what `credentials` has for its host; nil if it is sent as it is.
    ///
    /// A server could collect a password by a redirect: that of `default` is not for it to choose, and none is sent
    /// without TLS that was begun with it.
    func adding(_ credentials: Netrc) -> URLRequest? {
        guard let url = next.url, let host = url.host, next.value(forHTTPHeaderField: "Authorization") == nil,
            request.url?.scheme?.lowercased() != "https" || url.scheme?.lowercased() == "https",
            let value = credentials.authorization(for: host, login: url.user, isRedirect: true)
        else { return nil }
        var request = next
        request.setValue(value, forHTTPHeaderField: "Authorization")
        request.url = url.withoutUserInfo
        return request
    }
}
