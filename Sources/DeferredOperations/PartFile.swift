internal import Foundation

/// A file that is being written beside the place that it is for, so that it can be moved there in one step.
///
/// Not thread-safe; a transfer's lock is around it.
final class PartFile {
    /// What went wrong, in the system's words.
    struct Failure: Error {
        let code: CInt
        var reason: String { String(cString: strerror(code)) }
        static var last: Failure { Failure(code: errno) }
    }

    let path: String
    private(set) var byteCount: Int64
    private var descriptor: CInt

    private init(_ path: String, _ descriptor: CInt, _ byteCount: Int64) {
        self.path = path
        self.descriptor = descriptor
        self.byteCount = byteCount
    }

    deinit {
        close()
    }

    /// A new file; its name must not be taken.
    static func creating(_ path: String) throws(Failure) -> PartFile {
        PartFile(path, try opened(path, O_WRONLY | O_CREAT | O_EXCL), 0)
    }

    /// The file of that name, new or as it was left, locked for as long as it is open; nil if somebody else
    /// has it.
    static func continuing(_ path: String) throws(Failure) -> PartFile? {
        while true {
            let descriptor = try opened(path, O_WRONLY | O_CREAT)
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let failure = Failure.last
                closeDescriptor(descriptor)
                if failure.code == EWOULDBLOCK { return nil }
                throw failure
            }
            var opened = stat()
            var named = stat()
            // Between opening and locking its last owner may have moved it into place, or removed it.
            if fstat(descriptor, &opened) == 0, stat(path, &named) == 0, opened.st_ino == named.st_ino {
                let end = lseek(descriptor, 0, SEEK_END)
                return PartFile(path, descriptor, Int64(max(0, end)))
            }
            closeDescriptor(descriptor)
        }
    }

    private static func opened(_ path: String, _ flags: CInt) throws(Failure) -> CInt {
        while true {
            let descriptor = open(path, flags | O_CLOEXEC, 0o666)
            if descriptor >= 0 { return descriptor }
            if errno != EINTR { throw .last }
        }
    }

    /// Adds bytes at the end.
    func append(_ data: Data) throws(Failure) {
        var failure: Failure?
        for region in data.regions {
            region.withUnsafeBytes { bytes in
                var rest = bytes
                while failure == nil, let start = rest.baseAddress, rest.count > 0 {
                    let count = write(descriptor, start, rest.count)
                    if count >= 0 {
                        byteCount += Int64(count)
                        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                    } else if errno != EINTR {
                        failure = .last
                    }
                }
            }
        }
        if let failure { throw failure }
    }

    /// Starts again from nothing.
    func empty() throws(Failure) {
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else { throw .last }
        byteCount = 0
    }

    /// Gives the file its final name, in one step.
    ///
    /// - Parameter replacing: Whether what has that name may go; otherwise it stays, and the failure's code
    ///   is `EEXIST`.
    func move(to destination: String, replacing: Bool) throws(Failure) {
        if replacing {
            guard rename(path, destination) == 0 else { throw .last }
        } else if link(path, destination) == 0 {
            unlink(path)
        } else {
            let failure = Failure.last
            var existing = stat()
            // Not every file system has hard links; then there is a moment between looking and moving.
            guard failure.code != EEXIST, lstat(destination, &existing) != 0 else {
                throw Failure(code: EEXIST)
            }
            guard rename(path, destination) == 0 else { throw .last }
        }
    }

    /// Lets go of the file, which stays.
    func close() {
        guard descriptor >= 0 else { return }
        closeDescriptor(descriptor)
        descriptor = -1
    }

    /// Lets go of the file, which goes.
    func remove() {
        unlink(path)
        close()
    }
}

private func closeDescriptor(_ descriptor: CInt) {
    close(descriptor)
}
