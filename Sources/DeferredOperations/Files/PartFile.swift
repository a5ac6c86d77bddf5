internal import Foundation

/// Why a file could not be used, in the system's words or ours.
struct FileFailure: Error {
    let code: CInt
    var words: String?
    var reason: String { words ?? String(cString: strerror(code)) }
    static var last: FileFailure { FileFailure(code: errno) }

    /// What a file of that mode is; nil if it is a regular one.
    static func kind(otherThanRegular mode: mode_t) -> String? {
        switch mode & S_IFMT {
        case S_IFREG: nil
        case S_IFDIR: "it is a directory"
        default: "it is a pipe, a device or a socket"
        }
    }
}

/// A file that is written beside its destination, so that it can be moved there in one step.
///
/// It is opened without following symbolic links, must be a regular file of the user's own with this one name,
/// and is readable by its owner only (O5). Before a name is deleted or moved, it is checked to be this file.
///
/// Not thread-safe; a transfer's lock protects it.
final class PartFile {
    /// The state of the path of a part file that is to be continued.
    enum Opening {
        case opened(PartFile)
        /// Another download is writing it.
        case busy
        /// A file that no download has made.
        case foreign
    }

    let path: String
    var url: URL { URL(fileURLWithPath: path) }
    private(set) var byteCount: Int64
    private var descriptor: CInt
    private var isTemporary = false

    private init(_ path: String, _ descriptor: CInt, _ byteCount: Int64) {
        self.path = path
        self.descriptor = descriptor
        self.byteCount = byteCount
    }

    deinit {
        if isTemporary { unlink(path) }
        close()
    }

    /// Makes a new file, and locks it until it is closed; its name must not be taken.
    static func creating(_ path: String) throws(FileFailure) -> PartFile {
        while true {
            let part = PartFile(path, try opened(path, O_RDWR | O_CREAT | O_EXCL, 0o600), 0)
            // Without a lock, on a file system that has none, it is not recognised as abandoned either.
            guard flock(part.descriptor, LOCK_EX) == 0 else { return part }
            // Before it was locked, it may have been taken for an abandoned one.
            if part.hasName(path) { return part }
        }
    }

    /// Makes a file in the folder for temporary files, which is removed with this object at the latest.
    static func temporary(_ purpose: String) throws(DataSourceError) -> PartFile {
        let folder = FileManager.default.temporaryDirectory
        let url = folder.appendingPathComponent("\(purpose)-\(UUID().uuidString)")
        do {
            let file = try creating(url.path)
            file.isTemporary = true
            return file
        } catch {
            throw .cannotWrite(url, reason: error.reason)
        }
    }

    /// Removes a file that a process which has ended was writing: a file of the user's own, which nobody has locked.
    static func removeAbandoned(_ path: String) {
        guard let descriptor = try? opened(path, O_RDWR | O_NONBLOCK) else { return }
        let file = PartFile(path, descriptor, 0)
        guard let status = try? Self.status(of: descriptor), status.st_mode == S_IFREG | 0o600,
            status.st_nlink == 1, status.st_uid == geteuid(), flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else { return }
        file.remove()
    }

    /// Opens the file of that name, new or as an earlier download left it, and locks it until it is closed.
    ///
    /// - Parameter isOurs: Whether a file that is not empty has been left by a download.
    static func continuing(_ path: String, isOurs: () -> Bool) throws(FileFailure) -> Opening {
        while true {
            let descriptor: CInt
            do {
                // A pipe without a reader would block the call, hence O_NONBLOCK; it is refused below.
                descriptor = try opened(path, O_RDWR | O_NONBLOCK)
            } catch  where error.code == ENOENT {
                do { descriptor = try opened(path, O_RDWR | O_CREAT | O_EXCL, 0o600) } catch
                    where error.code == EEXIST
                { continue }
            }
            let part = PartFile(path, descriptor, 0)
            let status = try Self.status(of: descriptor, regularAt: path)
            guard status.st_nlink <= 1, status.st_uid == geteuid() else { return .foreign }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                if errno == EWOULDBLOCK { return .busy }
                if errno == EINTR { continue }
                throw .last
            }
            // Between opening and locking its last owner may have moved it into place, or removed it.
            guard part.hasName(path) else { continue }
            part.byteCount = Int64(lseek(descriptor, 0, SEEK_END))
            guard part.byteCount == 0 || isOurs() else { return .foreign }
            guard part.byteCount >= 0, fchmod(descriptor, 0o600) == 0 else { throw .last }
            return .opened(part)
        }
    }

    /// Opens a file without following a symbolic link, and returns its descriptor.
    static func opened(_ path: String, _ flags: CInt, _ mode: mode_t = 0) throws(FileFailure) -> CInt {
        while true {
            let descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode)
            if descriptor >= 0 { return descriptor }
            if errno == ELOOP { throw FileFailure(code: ELOOP, words: "\(path) is a symbolic link") }
            if errno != EINTR { throw .last }
        }
    }

    /// Returns the status of an open file, which has to be a regular one if `path` is named.
    static func status(of descriptor: CInt, regularAt path: String? = nil) throws(FileFailure) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last }
        if let path, status.st_mode & S_IFMT != S_IFREG {
            throw FileFailure(code: EINVAL, words: "\(path) is not a regular file")
        }
        return status
    }

    // MARK: Writing

    /// Adds bytes at the end.
    func append(_ data: Data) throws(FileFailure) {
        for region in data.regions {
            let failure = region.withUnsafeBytes { bytes -> FileFailure? in
                var rest = bytes
                while let start = rest.baseAddress, rest.count > 0 {
                    let count = pwrite(descriptor, start, rest.count, off_t(byteCount))
                    if count < 0, errno != EINTR { return .last }
                    if count < 0 { continue }
                    byteCount += Int64(count)
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                }
                return nil
            }
            if let failure { throw failure }
        }
    }

    /// Adds the bytes of `file` at the end, in pieces of 1 MiB.
    ///
    /// - Throws: A ``FileFailure`` of this file, an error of Foundation's about the other, and `CancellationError` if
    ///   `isCancelled` returns true, which is called between pieces.
    func append(contentsOf file: URL, unless isCancelled: () -> Bool) throws {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        while let piece = try handle.read(upToCount: 1 << 20), !piece.isEmpty {
            if isCancelled() { throw CancellationError() }
            try append(piece)
        }
    }

    /// Adds bytes at the end of a temporary file.
    func write(_ data: Data) throws(DataSourceError) {
        do { try append(data) } catch { throw .cannotWrite(url, reason: error.reason) }
    }

    /// Returns up to `limit` bytes of a temporary file.
    func read(at start: Int64, upTo limit: Int) throws(DataSourceError) -> Data {
        let length = Int(min(Int64(limit), byteCount - start))
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: length, alignment: 1)
        defer { bytes.deallocate() }
        var count = -1
        repeat { count = pread(descriptor, bytes, length, off_t(start)) } while count < 0 && errno == EINTR
        guard count > 0 else { throw .cannotWrite(url, reason: FileFailure.last.reason) }
        return Data(bytes: bytes, count: count)
    }

    /// Truncates the file to the first `byteCount` bytes.
    func truncate(to byteCount: Int64 = 0) throws(FileFailure) {
        guard ftruncate(descriptor, off_t(byteCount)) == 0 else { throw .last }
        self.byteCount = byteCount
    }

    // MARK: Ending

    /// Renames the file to its final name, in one step.
    ///
    /// - Parameters:
    ///   - replacing: Whether the file that has that name may be replaced, whose mode is kept; otherwise it stays,
    ///     and the failure's code is `EEXIST`.
    func move(to destination: String, replacing: Bool) throws(FileFailure) {
        guard hasName(path) else {
            throw FileFailure(code: ENOENT, words: "the part file has been removed or replaced")
        }
        var existing = stat()
        let exists = lstat(destination, &existing) == 0
        if exists, !replacing { throw FileFailure(code: EEXIST) }
        let mode = exists ? existing.st_mode & 0o7777 : modeOfNewFiles()
        guard fchmod(descriptor, mode) == 0 else { throw .last }
        if replacing {
            guard rename(path, destination) == 0 else { throw .last }
        } else if link(path, destination) == 0 {
            unlink(path)
        } else {
            let failure = FileFailure.last
            // Not every file system has hard links; then there is a moment between looking and moving.
            guard failure.code != EEXIST, lstat(destination, &existing) != 0 else {
                throw FileFailure(code: EEXIST)
            }
            guard rename(path, destination) == 0 else { throw .last }
        }
    }

    /// The mode that a new file has in this folder: what the process's mask leaves, which can only be read by
    /// setting it, for all threads.
    private func modeOfNewFiles() -> mode_t {
        let sample = "\(path).\(Destination.uniqueWord())"
        guard let descriptor = try? Self.opened(sample, O_WRONLY | O_CREAT | O_EXCL, 0o666) else {
            return 0o600
        }
        defer { closeDescriptor(descriptor) }
        unlink(sample)
        return (try? Self.status(of: descriptor)).map { $0.st_mode & 0o7777 } ?? 0o600
    }

    /// Whether `path` is still a name of this file.
    func hasName(_ path: String) -> Bool {
        var named = stat()
        guard let opened = try? Self.status(of: descriptor), lstat(path, &named) == 0 else { return false }
        return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }

    /// Closes the file.
    func close() {
        guard descriptor >= 0 else { return }
        closeDescriptor(descriptor)
        descriptor = -1
    }

    /// Removes the file. Its blocks are freed by ``close()``: 0.4 s for 300 MB, too long under a lock.
    func remove() {
        if hasName(path) { unlink(path) }
    }
}

private func closeDescriptor(_ descriptor: CInt) {
    close(descriptor)
}
