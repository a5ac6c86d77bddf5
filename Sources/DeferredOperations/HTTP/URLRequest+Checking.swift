internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

extension URLRequest {
    /// Returns the address as errors name it.
    ///
    /// - Throws: ``DataSourceError/invalidRequest(_:reason:)`` if it is not of the form `http://host` or `https://host`.
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

    /// Returns this request with what the options add to it, and checks that it can be sent.
    func checked(_ options: TransferOptions) throws(DataSourceError) -> URLRequest {
        let url = try checkedAddress()
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
            request.setValue(HTTPDate.text(date), forHTTPHeaderField: "If-Modified-Since")
        }
        if let tag = options.ifNoneMatch { request.setValue(tag, forHTTPHeaderField: "If-None-Match") }
        return request
    }
}
