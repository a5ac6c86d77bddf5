#if canImport(FoundationNetworking)
internal import Foundation

/// The cookies of a transport: which a request receives, and which are kept of an answer (RFC 6265).
///
/// On swift-corelibs-foundation, a cookie that `URLSession` has stored takes the place of a `Cookie` header of the
/// caller's, is sent to every path, also over `http` if it is `Secure`, and after a `Max-Age` of 0. So its session has no
/// storage, and what is sent and stored is decided here. The text of a cookie is parsed by `HTTPCookie`, and what a
/// caller has put into the storage is sent, too.
///
/// A request with a `Cookie` header of its own is sent with that, and nothing of its answer is stored; so is one that
/// does not handle cookies (`httpShouldHandleCookies`). A cookie without a `Path` is one of the whole host.
///
/// Sound as `@unchecked Sendable`: its properties are constants, and an `HTTPCookieStorage` is thread-safe.
package final class CookieJar: @unchecked Sendable {
    private let storage: HTTPCookieStorage?
    private let sendsCookies: Bool
    private let keepsCookies: Bool

    /// Takes over the storage of a configuration, which has none afterwards.
    init(of configuration: URLSessionConfiguration) {
        storage = configuration.httpCookieStorage
        let names = (configuration.httpAdditionalHeaders ?? [:]).keys.map { "\($0)".lowercased() }
        sendsCookies = configuration.httpShouldSetCookies && !names.contains("cookie")
        keepsCookies = configuration.httpCookieAcceptPolicy != .never
        configuration.httpCookieStorage = nil
    }

    /// Returns the request with the cookies for its address.
    package func adding(to request: URLRequest) -> URLRequest {
        guard sendsCookies, Self.handlesCookies(request), let url = request.url,
            let cookies = storage?.cookies(for: url)
        else { return request }
        // Those of longer paths come first (RFC 6265, 5.4); equal ones in an order that is always the same.
        let fitting = cookies.filter { Self.fits($0, url) }.sorted {
            ($0.path.utf8.count, $1.name) > ($1.path.utf8.count, $0.name)
        }
        // No more than curl sends: a server must not make the requests of others too large.
        var byteCount = 0
        let sent = fitting.prefix { cookie in
            byteCount += cookie.name.utf8.count + cookie.value.utf8.count + 3
            return byteCount <= 8190
        }
        guard let header = HTTPCookie.requestHeaderFields(with: Array(sent))["Cookie"] else { return request }
        var request = request
        request.setValue(header, forHTTPHeaderField: "Cookie")
        return request
    }

    /// Stores the cookies of an answer.
    ///
    /// - Parameter request: As it was before ``adding(to:)``.
    package func keep(_ response: HTTPURLResponse, to request: URLRequest) {
        guard keepsCookies, let storage, Self.handlesCookies(request), let url = request.url,
            let header = response.value(forHTTPHeaderField: "Set-Cookie")
        else { return }
        let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": header], for: url)
        let allowed = cookies.filter { Self.maySet($0, url) }.map(Self.expiring)
        storage.setCookies(allowed, for: url, mainDocumentURL: request.mainDocumentURL)
    }

    private static func handlesCookies(_ request: URLRequest) -> Bool {
        request.httpShouldHandleCookies && request.value(forHTTPHeaderField: "Cookie") == nil
    }

    /// Whether a cookie of this host is for that address.
    private static func fits(_ cookie: HTTPCookie, _ url: URL) -> Bool {
        if cookie.isSecure, url.scheme?.lowercased() != "https" { return false }
        if let end = cookie.expiresDate, end <= Date() { return false }
        // `path` of a URL has no slash at its end.
        let components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        let path = components.map { $0.percentEncodedPath.isEmpty ? "/" : $0.percentEncodedPath } ?? "/"
        guard path.hasPrefix(cookie.path), path.count > cookie.path.count else { return path == cookie.path }
        return cookie.path.hasSuffix("/") || path.dropFirst(cookie.path.count).first == "/"
    }

    /// Whether an answer from that address may set a cookie: not one that is sent to all hosts of a top-level domain, or
    /// to other addresses whose numbers end alike, nor one that is only for a secure connection over another one.
    private static func maySet(_ cookie: HTTPCookie, _ url: URL) -> Bool {
        if cookie.isSecure, url.scheme?.lowercased() != "https" { return false }
        guard cookie.domain.hasPrefix(".") else { return true }
        let host = url.host ?? ""
        let isAddress =
            host.contains(":") || host.utf8.allSatisfy { UInt8(ascii: ".")...UInt8(ascii: "9") ~= $0 }
        return !isAddress && cookie.domain.dropFirst().contains(".")
    }

    /// Returns the cookie with the date that its `Max-Age` is, which has precedence over `Expires`.
    private static func expiring(_ cookie: HTTPCookie) -> HTTPCookie {
        guard var properties = cookie.properties, let age = properties[.maximumAge] as? String,
            let seconds = Double(age)
        else { return cookie }
        // `HTTPCookie` has no date where there is an age.
        properties[.maximumAge] = nil
        properties[.expires] = seconds > 0 ? Date(timeIntervalSinceNow: min(seconds, 1e9)) : Date.distantPast
        return HTTPCookie(properties: properties) ?? cookie
    }
}
#endif
