package import Foundation

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
    /// This answer, known by the URL that was asked for if another was sent in its stead, and without its password.
    func from(_ asked: URL?) -> HTTPURLResponse {
        guard let asked = asked?.withoutUserInfo, asked != url, url?.withoutUserInfo == asked.asSent else {
            return self
        }
        return HTTPURLResponse(
            url: asked, statusCode: statusCode, httpVersion: "HTTP/1.1", headerFields: headers) ?? self
    }
}

extension URL {
    /// This URL without user and password, as it may stand in errors and files (O9).
    package var withoutUserInfo: URL {
        let text = absoluteString
        let stripped = text.withoutUserInfo
        return stripped == text ? self : URL(string: stripped) ?? .unnamed
    }

    static let unnamed = URL(fileURLWithPath: "/")

    /// Whether it can be fetched here.
    var isHTTP: Bool {
        let scheme = scheme?.lowercased()
        return scheme == "http" || scheme == "https"
    }
}

extension String {
    /// This address without the part before `@`.
    package var withoutUserInfo: String {
        // Called several times for each transfer, and mostly there is nothing to remove: checks that first.
        guard utf8.contains(UInt8(ascii: "@")), let slashes = firstRange(of: "//") else { return self }
        let rest = self[slashes.upperBound...]
        let authority = rest.prefix { !"/?#\\".contains($0) }
        guard let at = authority.lastIndex(of: "@") else { return self }
        return String(self[..<slashes.upperBound] + self[index(after: at)...])
    }
}

extension URLRequest {
    /// The address as errors name it.
    var errorURL: URL { url?.withoutUserInfo ?? .unnamed }

    /// Returns the address as errors name it.
    ///
    /// - Throws: ``DataSourceError/invalidRequest(_:reason:)`` if it is not of the form `http://host` or
    ///   `https://host`.
    @discardableResult
    func checkedAddress() throws(DataSourceError) -> URL {
        guard let asked = url else { throw .invalidRequest(nil, reason: "the request has no URL") }
        let url = asked.withoutUserInfo
        guard let scheme = url.scheme else { throw .invalidRequest(url, reason: "the URL has no scheme") }
        guard url.isHTTP else { throw .invalidRequest(url, reason: "\(scheme) is neither http nor https") }
        guard let host = url.host, !host.isEmpty else {
            throw .invalidRequest(url, reason: "the URL has no host")
        }
        return url
    }

    /// Returns this request with what the options add to it, and checks that it can be sent, and by this session.
    func checked(_ options: TransferOptions, _ session: TransferSession) throws(DataSourceError) -> URLRequest
    {
        let url = try checkedAddress()
        if let fault = session.fault { throw .invalidRequest(url, reason: fault) }
        let hasOwnBody = !(httpBody?.isEmpty ?? true) || httpBodyStream != nil
        let bodies = [
            hasOwnBody, options.uploadFile != nil, options.uploadForm != nil, options.makeBodyStream != nil,
        ]
        .count { $0 }
        if bodies > 0, httpMethod == "GET" { throw .invalidRequest(url, reason: "a GET has no body") }
        if bodies > 1 { throw .invalidRequest(url, reason: "more than one body") }
        try options.uploadFile?.checkUpload(to: url)
        for limit in [options.silenceTimeout, options.totalTimeout] {
            if let limit, limit <= .zero {
                throw .invalidRequest(url, reason: "a timeout of \(limit.inWords)")
            }
        }
        var request = self
        if let date = options.ifModifiedSince {
            request.setValue(HTTPDate.formatter.string(from: date), forHTTPHeaderField: "If-Modified-Since")
        }
        if let tag = options.ifNoneMatch { request.setValue(tag, forHTTPHeaderField: "If-None-Match") }
        if let form = options.uploadForm {
            request.setValue(form.contentType, forHTTPHeaderField: "Content-Type")
        }
        return request
    }
}
