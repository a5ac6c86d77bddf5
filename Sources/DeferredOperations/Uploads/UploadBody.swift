internal import Foundation

extension InputStream {
    /// Why it has failed, in words.
    var faultInWords: String { streamError?.localizedDescription ?? "it has no error" }

    /// Why it could not be read to its end, as a body; nil if it was.
    func fault(to url: URL) -> DataSourceError? {
        guard streamStatus == .error else { return nil }
        guard let body = self as? BodyStream else {
            return .invalidRequest(url, reason: "the body stream cannot be read: \(faultInWords)")
        }
        let subject = if case .file = body.source { "the file of the upload" } else { "the body stream" }
        return .invalidRequest(url, reason: "\(subject) cannot be read: \(body.fault ?? "it has no error")")
    }

    /// The stream itself, if it is the source of a body of known length.
    var original: InputStream {
        if case .stream(let stream)? = (self as? BodyStream)?.source { stream } else { self }
    }
}

extension URLRequest {
    /// Opens the stream of the body, if it is one, where Foundation does not notice that it can't be opened (O8).
    ///
    /// swift-corelibs-foundation would send an empty body. To open a stream again, as it does, has no effect.
    func openBodyStream(unlessIn sent: [InputStream]) throws(DataSourceError) {
        guard let stream = httpBodyStream else { return }
        let original = stream.original
        guard !sent.contains(where: { $0.original === original }), original.streamStatus == .notOpen else {
            throw .cannotResendBody(errorURL)
        }
        #if canImport(FoundationNetworking)
        stream.open()
        if let fault = stream.fault(to: errorURL) { throw fault }
        #endif
    }

    // MARK: Framing

    /// How many bytes the caller says that the body has: in `Content-Length`, or in the options.
    ///
    /// - Throws: ``DataSourceError/invalidRequest(_:reason:)`` for a `Transfer-Encoding`, which would be a second
    ///   framing, and for lengths that are invalid or differ (O11).
    private func statedByteCount(_ options: TransferOptions) throws(DataSourceError) -> Int64? {
        if let encoding = value(forHTTPHeaderField: "Transfer-Encoding") {
            let words = "a Transfer-Encoding of \(encoding): what frames the body is decided when it is sent"
            throw .invalidRequest(errorURL, reason: words)
        }
        // A redirect may have left no body.
        let option = hasBody(options) ? options.bodyByteCount : nil
        guard let text = value(forHTTPHeaderField: "Content-Length") else { return option }
        guard let count = ContentRange.position(text), count == option ?? count else {
            let words = option.map { "where bodyByteCount is \($0)" } ?? "which is no length"
            throw .invalidRequest(errorURL, reason: "a Content-Length of \(text), \(words)")
        }
        return count
    }

    private func hasBody(_ options: TransferOptions) -> Bool {
        let isOption =
            options.uploadFile != nil || options.uploadForm != nil || options.makeBodyStream != nil
        return mayHaveBody && (isOption || httpBodyStream != nil || httpBody?.isEmpty == false)
    }

    /// Checks the length that the options have for the body, before the first request.
    func checkByteCount(_ options: TransferOptions) throws(DataSourceError) {
        guard let count = options.bodyByteCount else { return }
        if count < 0 { throw .invalidRequest(errorURL, reason: "a bodyByteCount of \(count)") }
        if !hasBody(options) { try check(count, against: 0) }
    }

    /// Checks that what the caller says about the length of the body does not contradict it, as far as that is known
    /// before a stream is read.
    ///
    /// - Parameter options: Those of the transfer: a body may be among them.
    func checkFraming(_ options: TransferOptions) throws(DataSourceError) {
        guard let stated = try statedByteCount(options) else { return }
        let hasOther = options.uploadForm != nil || options.makeBodyStream != nil
        if mayHaveBody, httpBodyStream != nil || hasOther { return }
        let file = mayHaveBody ? options.uploadFile.flatMap { FileSystem.status($0.path)?.st_size } : nil
        try check(stated, against: file.map { Int64($0) } ?? Int64(httpBody?.count ?? 0))
    }

    private func check(_ stated: Int64, against actual: Int64) throws(DataSourceError) {
        if stated == actual { return }
        throw .invalidRequest(
            errorURL, reason: "a length of \(stated) bytes is stated, and the body has \(actual)")
    }

    /// Returns this request with the stream that is its body, and knows its length, if that is stated.
    ///
    /// - Parameter file: Sent as the body; nil for the stream that the request has.
    func framed(_ file: UploadFile?, _ options: TransferOptions) throws(DataSourceError) -> URLRequest {
        guard file != nil || httpBodyStream != nil else { return self }
        let stated = try statedByteCount(options)
        var request = self
        if let file {
            if let stated { try check(stated, against: file.byteCount) }
            request.httpBodyStream = BodyStream(.file(file), byteCount: file.byteCount)
        } else if let stated, let stream = httpBodyStream {
            request.httpBodyStream = BodyStream(.stream(stream), byteCount: stated)
        }
        return request
    }

    /// Removes the body, and the length that the caller has stated: how it is framed is for the transport to write.
    mutating func removeBody() {
        httpBody = nil
        httpBodyStream = nil
        setValue(nil, forHTTPHeaderField: "Content-Length")
    }
}
