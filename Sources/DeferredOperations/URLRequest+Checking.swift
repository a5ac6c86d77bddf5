internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

extension URLRequest {
    /// This request with what the options add to it, if it can be sent at all.
    func checked(_ options: TransferOptions) throws(DataSourceError) -> URLRequest {
        guard let url else { throw .invalidRequest(nil, reason: "the request has no URL") }
        guard let scheme = url.scheme else { throw .invalidRequest(url, reason: "the URL has no scheme") }
        guard url.isHTTP else { throw .invalidRequest(url, reason: "\(scheme) is neither http nor https") }
        guard let host = url.host, !host.isEmpty else {
            throw .invalidRequest(url, reason: "the URL has no host")
        }
        let hasBody = !(httpBody?.isEmpty ?? true) || httpBodyStream != nil || options.uploadFile != nil
        if hasBody, httpMethod == "GET" { throw .invalidRequest(url, reason: "a GET has no body") }
        if let file = options.uploadFile {
            var isDirectory: ObjCBool = false
            guard file.isFileURL,
                FileManager.default.fileExists(atPath: file.path, isDirectory: &isDirectory),
                !isDirectory.boolValue, FileManager.default.isReadableFile(atPath: file.path)
            else { throw .invalidRequest(url, reason: "\(file.path) cannot be read for the upload") }
        }
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
