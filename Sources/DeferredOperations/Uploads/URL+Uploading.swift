internal import Foundation

extension URL {
    /// Checks that this is a regular file that can be sent. A device or a pipe may have no end, and a pipe without a writer
    /// blocks the thread that opens it.
    ///
    /// - Parameter request: The address that it is to be sent to, for the error.
    /// - Throws: ``DataSourceError/invalidRequest(_:reason:)``, which names the file.
    func checkUpload(to request: URL) throws(DataSourceError) {
        func failure(_ reason: String) -> DataSourceError {
            .invalidRequest(request, reason: "\(path) cannot be read for the upload: \(reason)")
        }
        guard isFileURL else { throw failure("it is not a file URL") }
        var status = stat()
        guard stat(path, &status) == 0 else { throw failure(String(cString: strerror(errno))) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw failure("it is a directory")
        default: throw failure("it is a pipe, a device or a socket")
        }
        guard access(path, R_OK) == 0 else { throw failure(String(cString: strerror(errno))) }
    }
}
