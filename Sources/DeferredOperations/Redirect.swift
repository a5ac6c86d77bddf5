internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Where an answer sends the client on to.
enum Redirect {
    /// The request that follows from a redirect; nil if `response` is none.
    ///
    /// - Throws: ``DataSourceError/invalidRedirect(_:location:)``.
    static func request(after response: HTTPURLResponse, to request: URLRequest) throws(DataSourceError)
        -> URLRequest?
    {
        guard [301, 302, 303, 307, 308].contains(response.statusCode), let from = request.url,
            let location = response.value(forHTTPHeaderField: "Location"), !location.isEmpty
        else { return nil }
        guard var target = URL(string: location, relativeTo: from)?.absoluteURL, target.isHTTP,
            target.host != nil
        else { throw .invalidRedirect(from, location: location) }
        // The part after # is the client's own and stays, unless the server gives another.
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
        if !target.hasSameOrigin(as: from) {
            for name in ["Authorization", "Cookie", "Proxy-Authorization"] {
                next.setValue(nil, forHTTPHeaderField: name)
            }
        }
        return next
    }
}

extension URL {
    /// Whether it can be fetched here.
    var isHTTP: Bool {
        let scheme = scheme?.lowercased()
        return scheme == "http" || scheme == "https"
    }

    fileprivate func hasSameOrigin(as other: URL) -> Bool {
        scheme?.lowercased() == other.scheme?.lowercased() && host?.lowercased() == other.host?.lowercased()
            && effectivePort == other.effectivePort
    }

    private var effectivePort: Int? {
        port ?? (scheme?.lowercased() == "https" ? 443 : 80)
    }
}
