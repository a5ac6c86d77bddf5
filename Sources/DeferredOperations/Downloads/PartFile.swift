internal import Foundation

/// A file that is written beside its destination, so that it can be moved there in one step.
///
/// It is opened without following symbolic links, must be a regular file of the user's own with this one name,
/// and is readable by its owner only (O5). Before a name is deleted or moved, it is checked to be this file.
///
/// Not thread-safe; a transfer's lock protects it.
final class PartFile {
    /// What went wrong, in the system's words or ours.
    struct Failure: Error {
        let code: CInt
        var words: String?
        var reason: String { words ?? String(cString: strerror(code)) }
        static var last: Failure { Failure(code: errno) }
    }

    /// The state of the path of a part file that is to be continued.
    enum Opening {
        case opened(PartFile)
        /// Another download is writing it.
        case busy
        /// A file that no download has made.
        case foreign
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

    /// Makes a new file; its name must not be taken.
    static func creating(_ path: String) throws(Failure) -> PartFile {
        PartFile(path, try opened(path, O_WRONLY | O_CREAT | O_EXCL, 0o600), 0)
    }

    /// Opens the file of that name, new or as an earlier download left it, and locks it until it is closed.
    ///
    /// - Parameter isOurs: Whether a file that is not empty has been left by a download.
    static func continuing(_ path: String, isOurs: () -> Bool) throws(Failure) -> Opening {
        while true {
            let descriptor: CInt
            do {
                // A pipe without a reader would block the call, hence O_NONBLOCK; it is refused below.
                descriptor = try opened(path, O_RDWR | O_NONBLOCK)
            } catch  where error.code == ENOENT {
                do { descriptor = try opened(path, O_RDWR | O_CREAT | O_EXCL, 0o600) } catch
                    where error.code == EEXIST
                { continue }
            } catch  where error.code == ELOOP {
                throw Failure(code: ELOOP, words: "\(path) is a symbolic link")
            }
            var mustClose = true
            defer { if mustClose { closeDescriptor(descriptor) } }
            let status = try Self.status(of: descriptor)
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw Failure(code: EINVAL, words: "\(path) is not a regular file")
            }
            guard status.st_nlink <= 1, status.st_uid == geteuid() else { return .foreign }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                if errno == EWOULDBLOCK { return .busy }
                if errno == EINTR { continue }
                throw .last
            }
            // Between opening and locking its last owner may have moved it into place, or removed it.
            guard Self.isNamed(path, descriptor) else { continue }
            let end = lseek(descriptor, 0, SEEK_END)
            guard end == 0 || isOurs() else { return .foreign }
            guard end >= 0, fchmod(descriptor, 0o600) == 0 else { throw .last }
            mustClose = false
            return .opened(PartFile(path, descriptor, Int64(end)))
        }
    }

    private static func opened(_ path: String, _ flags: CInt, _ mode: mode_t = 0) throws(Failure) -> CInt {
        while true {
            let descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode)
            if descriptor >= 0 { return descriptor }
            if errno != EINTR { throw .last }
        }
    }

    private static func status(of descriptor: CInt) throws(Failure) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last }
        return status
    }

    /// Whether `path` is still the name of the open file.
    private static func isNamed(_ path: String, _ descriptor: CInt) -> Bool {
        var opened = stat()
        var named = stat()
        return fstat(descriptor, &opened) == 0 && lstat(path, &named) == 0
            && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }

    // MARK: Writing

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

    /// Truncates the file to the first `byteCount` bytes.
    func truncate(to byteCount: Int64 = 0) throws(Failure) {
        guard ftruncate(descriptor, off_t(byteCount)) == 0, lseek(descriptor, off_t(byteCount), SEEK_SET) >= 0
        else { throw .last }
        self.byteCount = byteCount
    }

    // MARK: Ending

    /// Renames the file to its final name, in one step.
    ///
    /// - Parameters:
    ///   - replacing: Whether the file that has that name may be replaced, whose mode is kept; otherwise it stays,
    ///     and the failure's code is `EEXIST`.
    func move(to destination: String, replacing: Bool) throws(Failure) {
        guard Self.isNamed(path, descriptor) else {
            throw Failure(code: ENOENT, words: "the part file has been removed or replaced")
        }
        var existing = stat()
        let exists = lstat(destination, &existing) == 0
        if exists, !replacing { throw Failure(code: EEXIST) }
        let mode = exists ? existing.st_mode & 0o7777 : modeOfNewFiles()
        guard fchmod(descriptor, mode) == 0 else { throw .last }
        if replacing {
            guard rename(path, destination) == 0 else { throw .last }
        } else if link(path, destination) == 0 {
            unlink(path)
        } else {
            let failure = Failure.last
            // Not every file system has hard links; then there is a moment between looking and moving.
            guard failure.code != EEXIST, lstat(destination, &existing) != 0 else {
                throw Failure(code: EEXIST)
            }
            guard rename(path, destination) == 0 else { throw .last }
        }
    }

    /// The mode that a new file has in this folder: what the process's mask leaves, which can only be read by
    /// setting it, for all threads.
    private func modeOfNewFiles() -> mode_t {
        let sample = "\(path).\(String(UInt32.random(in: .min ... .max), radix: 16))"
        guard let descriptor = try? Self.opened(sample, O_WRONLY | O_CREAT | O_EXCL, 0o666) else {
            return 0o600
        }
        defer { closeDescriptor(descriptor) }
        unlink(sample)
        return (try? Self.status(of: descriptor)).map { $0.st_mode & 0o7777 } ?? 0o600
    }

    /// Whether `path` names this file.
    func isNamed(_ path: String) -> Bool { Self.isNamed(path, descriptor) }

    /// Closes the file, which stays.
    func close() {
        guard descriptor >= 0 else { return }
        closeDescriptor(descriptor)
        descriptor = -1
    }

    /// Removes the file, and closes it.
    func remove() {
        guard Self.isNamed(path, descriptor), unlink(path) == 0 else { return close() }
        // Closing it frees its blocks: 0.4 s for 300 MB, too long under a lock.
        let removed = descriptor
        descriptor = -1
        DispatchQueue.global(qos: .utility).async { closeDescriptor(removed) }
    }
}

private func closeDescriptor(_ descriptor: CInt) {
    close(descriptor)
}
