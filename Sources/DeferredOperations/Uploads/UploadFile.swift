internal import Foundation

/// A regular file that is open for reading, until this object is released.
final class UploadFile: Sendable {
    let path: String
    let byteCount: Int64
    private let descriptor: CInt

    /// Opens the file of that name, which `checkUpload` has accepted.
    init?(_ path: String) {
        self.path = path
        // What was a regular file may have been replaced by a pipe, which would block the call, hence O_NONBLOCK.
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        byteCount = descriptor < 0 ? 0 : Int64(PartFile.status(of: descriptor).st_size)
        if descriptor < 0 { return nil }
    }

    /// Uses another descriptor of a file that has been written.
    init?(_ file: PartFile) {
        path = file.path
        byteCount = file.byteCount
        descriptor = file.duplicatedDescriptor()
        if descriptor < 0 { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Reads at most `limit` bytes: 0 at the end, a negative number if it fails.
    func read(at position: Int64, into buffer: UnsafeMutablePointer<UInt8>, _ limit: Int) -> Int {
        var count = -1
        repeat { count = pread(descriptor, buffer, limit, off_t(position)) } while count < 0 && errno == EINTR
        return count
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

    /// Opens this file as a body, after the same checks.
    func openUpload(to request: URL) throws(DataSourceError) -> UploadFile {
        try checkUpload(to: request)
        guard let file = UploadFile(path) else {
            let reason = "\(path) cannot be read for the upload: \(FileSystem.lastFault)"
            throw .invalidRequest(request, reason: reason)
        }
        return file
    }
}
