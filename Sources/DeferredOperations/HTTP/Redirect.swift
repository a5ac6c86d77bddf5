internal import Foundation

extension URLRequest {
    /// Returns the request that follows from a redirect; nil if `response` to this one is none.
    ///
    /// - Throws: ``DataSourceError/invalidRedirect(_:location:)``, or ``DataSourceError/malformedResponse(_:reason:)``
    ///   for more than one `Location`, which Foundation joins with commas.
    func redirected(by response: HTTPURLResponse) throws(DataSourceError) -> URLRequest? {
        let status = response.statusCode
        guard [301, 302, 303, 307, 308].contains(status), let from = url,
            let location = response.value(forHTTPHeaderField: "Location"), !location.isEmpty
        else { return nil }
        let others = location.components(separatedBy: ", ").dropFirst()
        if others.contains(where: { $0.contains(":") || $0.hasPrefix("/") }) {
            throw .malformedResponse(from.withoutUserInfo, reason: "more than one Location")
        }
        // The part after # is the client's own and stays, unless the server sends another.
        let fragment = location.contains("#") ? "" : from.fragment.map { "#\($0)" } ?? ""
        guard let target = URL(string: location + fragment, relativeTo: from)?.absoluteURL, target.isHTTP,
            target.host != nil
        else { throw .invalidRedirect(from.withoutUserInfo, location: location.withoutUserInfo) }

        var next = self
        if status == 303 && httpMethod != "HEAD" || status < 303 && httpMethod == "POST" {
            next.httpMethod = "GET"
            next.httpBody = nil
            next.httpBodyStream = nil
            next.removeHeaders("Content-Type", "Content-Length", "Content-Encoding")
        }
        next.move(to: target)
        return next
    }

    /// Sets another address, and removes credentials from the headers unless it has the same scheme, host and port.
    mutating func move(to target: URL) {
        let isSameOrigin = target.origin == url?.origin
        url = target
        if !isSameOrigin { removeHeaders("Authorization", "Cookie", "Proxy-Authorization") }
    }

    private mutating func removeHeaders(_ names: String...) {
        for name in names { setValue(nil, forHTTPHeaderField: name) }
    }
}

extension URL {
    /// Scheme, host and port.
    fileprivate var origin: [String?] {
        [scheme?.lowercased(), host?.lowercased(), "\(port ?? (scheme?.lowercased() == "https" ? 443 : 80))"]
    }
}
