internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

extension URL {
    /// This URL as Foundation can send it.
    ///
    /// swift-corelibs-foundation does not know the scheme `HTTP`, and refuses an IPv6 address, because libcurl's host
    /// has brackets and that of `URL` has none. Percent-encoded, they belong to the host for both, and libcurl still
    /// recognises the address.
    var asSent: URL {
        #if canImport(FoundationNetworking)
        let isSentAsItIs = (scheme == "http" || scheme == "https") && host?.contains(":") != true
        if isSentAsItIs { return self }
        guard var components = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return self }
        components.scheme = components.scheme?.lowercased()
        if let host = components.encodedHost, host.hasPrefix("["), host.hasSuffix("]") {
            components.encodedHost =
                "%5B" + host.dropFirst().dropLast().replacing(":", with: "%3A") + "%5D"
        }
        return components.url ?? self
        #else
        return self
        #endif
    }
}

extension HTTPURLResponse {
    /// This answer, known by the URL that was asked for if another was sent in its stead.
    func from(_ asked: URL?) -> HTTPURLResponse {
        guard let asked, asked.asSent != asked, url == asked.asSent else { return self }
        var headers: [String: String] = [:]
        for (name, value) in allHeaderFields { headers["\(name)"] = "\(value)" }
        return HTTPURLResponse(
            url: asked, statusCode: statusCode, httpVersion: "HTTP/1.1", headerFields: headers) ?? self
    }
}
