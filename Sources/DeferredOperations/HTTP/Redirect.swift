internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Determines the request that follows from a redirect.
enum Redirect {
    /// Whether an answer with that status is a redirect.
    static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    /// Makes the request that follows from a redirect; nil if `response` is none.
    ///
    /// - Throws: ``DataSourceError/invalidRedirect(_:location:)``.
    static func request(after response: HTTPURLResponse, to request: URLRequest) throws(DataSourceError)
        -> URLRequest?
    {
        guard isRedirect(response.statusCode), let from = request.url,
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

        var next = request
        next.url = target
        let isPost = request.httpMethod == "POST"
        if response.statusCode == 303 && request.httpMethod != "HEAD" || isPost && response.statusCode < 303 {
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
}

extension URLRequest {
    /// Removes credentials from the headers, unless both addresses have the same scheme, host and port.
    mutating func dropCredentials(unlessSameOrigin target: URL, _ origin: URL) {
        if target.hasSameOrigin(as: origin) { return }
        for name in ["Authorization", "Cookie", "Proxy-Authorization"] {
            setValue(nil, forHTTPHeaderField: name)
        }
    }
}

extension URL {
    fileprivate func hasSameOrigin(as other: URL) -> Bool {
        scheme?.lowercased() == other.scheme?.lowercased() && host?.lowercased() == other.host?.lowercased()
            && effectivePort == other.effectivePort
    }

    private var effectivePort: Int? {
        port ?? (scheme?.lowercased() == "https" ? 443 : 80)
    }
}
