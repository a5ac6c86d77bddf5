internal import Foundation

extension URLRequest {
    /// Returns the request that follows from a redirect; nil if `response` to this one is none.
    ///
    /// - Throws: ``DataSourceError/invalidRedirect(_:location:)``.
    func redirected(by response: HTTPURLResponse) throws(DataSourceError) -> URLRequest? {
        let status = response.statusCode
        guard [301, 302, 303, 307, 308].contains(status), let from = url,
            let location = response.value(forHTTPHeaderField: "Location"), !location.isEmpty
        else { return nil }
        guard var target = URL(string: location, relativeTo: from)?.absoluteURL, target.isHTTP,
            target.host != nil
        else { throw .invalidRedirect(from.withoutUserInfo, location: location.withoutUserInfo) }
        // The part after # is the client's own and stays, unless the server sends another.
        if target.fragment == nil, let fragment = from.fragment,
            var components = URLComponents(url: target, resolvingAgainstBaseURL: false)
        {
            components.percentEncodedFragment = fragment
            target = components.url ?? target
        }

        var next = self
        next.url = target
        if status == 303 && httpMethod != "HEAD" || status < 303 && httpMethod == "POST" {
            next.httpMethod = "GET"
            next.httpBody = nil
            next.httpBodyStream = nil
            for name in ["Content-Type", "Content-Length", "Content-Encoding"] {
                next.setValue(nil, forHTTPHeaderField: name)
            }
        }
        next.dropCredentials(unlessSameOrigin: target, from)
        return next
    }

    /// Removes credentials from the headers, unless both addresses have the same scheme, host and port.
    mutating func dropCredentials(unlessSameOrigin target: URL, _ origin: URL) {
        if target.origin == origin.origin { return }
        for name in ["Authorization", "Cookie", "Proxy-Authorization"] {
            setValue(nil, forHTTPHeaderField: name)
        }
    }
}

extension URL {
    /// Scheme, host and port.
    fileprivate var origin: [String?] {
        let scheme = scheme?.lowercased()
        return [scheme, host?.lowercased(), "\(port ?? (scheme == "https" ? 443 : 80))"]
    }
}
