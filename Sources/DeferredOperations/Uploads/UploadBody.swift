internal import Foundation

extension InputStream {
    /// Why it could not be read to its end, as a body; nil if it was.
    func fault(to url: URL) -> DataSourceError? {
        guard streamStatus == .error else { return nil }
        let reason = streamError?.localizedDescription ?? "it has no error"
        return .invalidRequest(url, reason: "the body stream cannot be read: \(reason)")
    }
}

extension URLRequest {
    /// Opens the stream of the body, if it is one, where Foundation does not notice that it can't be opened (O8).
    ///
    /// swift-corelibs-foundation would send an empty body. To open a stream again, as it does, has no effect.
    func openBodyStream(unlessIn sent: [InputStream?]) throws(DataSourceError) {
        guard let stream = httpBodyStream else { return }
        guard !sent.contains(where: { $0 === stream }), stream.streamStatus == .notOpen else {
            throw .cannotResendBody(errorURL)
        }
        #if canImport(FoundationNetworking)
        stream.open()
        if let fault = stream.fault(to: errorURL) { throw fault }
        #endif
    }
}

extension URL {
    /// Checks that this is a regular file that can be sent. A device or a pipe may have no end, and a pipe
    /// without a writer blocks the thread that opens it.
    ///
    /// - Parameters:
    ///   - request: The address that it is to be sent to, for the error.
    ///   - isPart: Whether it is read before its length is sent. That of a file of a system such as `/proc` is given
    ///     as 0, and the body would be empty.
    /// - Throws: ``DataSourceError/invalidRequest(_:reason:)``, which names the file.
    func checkUpload(to request: URL, isPart: Bool = false) throws(DataSourceError) {
        func failure(_ reason: String) -> DataSourceError {
            .invalidRequest(request, reason: "\(path) cannot be read for the upload: \(reason)")
        }
        guard isFileURL else { throw failure("it is not a file URL") }
        if let fault = FileSystem.faultOfFile(path) { throw failure(fault) }
        guard let file = fopen(path, "r") else { throw failure(FileSystem.lastFault) }
        defer { fclose(file) }
        let isEmpty = getc(file) == EOF && ferror(file) == 0
        if !isPart, !isEmpty, FileSystem.status(path)?.st_size == 0 { throw failure("it has no length") }
    }
}
