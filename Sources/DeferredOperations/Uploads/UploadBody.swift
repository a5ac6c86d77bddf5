internal import Foundation

/// The body of a transfer's requests, where it is not part of the request itself.
struct UploadBody {
    /// The file that a form was written to.
    var form: PartFile?
    /// The stream that the present request reads.
    var stream: InputStream?
    /// The streams that have been sent, and can't be sent again. Kept until the end, since they may be of a
    /// class of the user's.
    var sentStreams: [InputStream] = []

    /// Why a stream could not be read to its end; nil if it was.
    static func failure(of stream: InputStream, to url: URL) -> DataSourceError? {
        guard stream.streamStatus == .error else { return nil }
        let reason = stream.streamError?.localizedDescription ?? "it has no error"
        return .invalidRequest(url, reason: "the body stream cannot be read: \(reason)")
    }
}

extension URLRequest {
    /// Opens the stream of the body, if it is one, where Foundation does not notice that it can't be opened (O8).
    ///
    /// swift-corelibs-foundation would send an empty body. To open a stream again, as it does, has no effect.
    func openBodyStream(unlessIn sent: [InputStream]) throws(DataSourceError) {
        guard let stream = httpBodyStream else { return }
        guard !sent.contains(where: { $0 === stream }), stream.streamStatus == .notOpen else {
            throw .cannotResendBody(errorURL)
        }
        #if canImport(FoundationNetworking)
        stream.open()
        if let failure = UploadBody.failure(of: stream, to: errorURL) { throw failure }
        #endif
    }
}

extension URL {
    /// Checks that this is a regular file that can be sent. A device or a pipe may have no end, and a pipe
    /// without a writer blocks the thread that opens it.
    ///
    /// - Parameter request: The address that it is to be sent to, for the error.
    /// - Throws: ``DataSourceError/invalidRequest(_:reason:)``, which names the file.
    func checkUpload(to request: URL) throws(DataSourceError) {
        func failure(_ reason: String) -> DataSourceError {
            .invalidRequest(request, reason: "\(path) cannot be read for the upload: \(reason)")
        }
        guard isFileURL else { throw failure("it is not a file URL") }
        if let fault = FileSystem.faultOfFile(path) { throw failure(fault) }
        guard access(path, R_OK) == 0 else { throw failure(FileSystem.lastFault) }
    }
}
