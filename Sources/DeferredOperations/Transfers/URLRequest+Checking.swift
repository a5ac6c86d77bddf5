internal import Foundation

extension URLRequest {
    /// Returns this request with what the options add to it, and checks that it can be sent, and by this session.
    func checked(_ options: TransferOptions, _ session: TransferSession) throws(DataSourceError) -> URLRequest
    {
        var request = self
        // Foundation drops a header whose value has a line break. Any other control character is refused below.
        let tag = options.ifNoneMatch.map { String($0.map { $0.isNewline ? "\u{8}" : $0 }) }
        let headers = [
            ("If-Modified-Since", options.ifModifiedSince.map { HTTPDate.formatter.string(from: $0) }),
            ("If-None-Match", tag), ("Content-Type", options.uploadForm?.contentType),
        ]
        for case (let name, let value?) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let url = try request.checkedAddress()
        // The years that HTTP can write, with a margin; NaN is not among them.
        guard -6e10..<2.5e11 ~= options.ifModifiedSince?.timeIntervalSince1970 ?? 0 else {
            throw .invalidRequest(url, reason: "ifModifiedSince has no year of four digits")
        }
        if let fault = session.fault { throw .invalidRequest(url, reason: fault) }
        let bodies = [
            httpBody?.isEmpty == false || httpBodyStream != nil, options.uploadFile != nil,
            options.uploadForm != nil, options.makeBodyStream != nil,
        ]
        .count { $0 }
        if bodies > 0, httpMethod == "GET" { throw .invalidRequest(url, reason: "a GET has no body") }
        if bodies > 1 { throw .invalidRequest(url, reason: "more than one body") }
        try options.uploadFile?.checkUpload(to: url)
        try request.checkByteCount(options)
        try request.checkFraming(options)
        for case let limit? in [options.silenceTimeout, options.totalTimeout] where limit <= .zero {
            throw .invalidRequest(url, reason: "a timeout of \(limit.inWords)")
        }
        return request
    }
}
