internal import Foundation

/// What the system reports about files.
enum FileSystem {
    /// Why the last system call failed, in words.
    static var lastFault: String { String(cString: strerror(errno)) }

    /// The status of a file, or of a symbolic link itself; nil if there is none.
    static func status(_ path: String, ofLink: Bool = false) -> stat? {
        var status = stat()
        return (ofLink ? lstat(path, &status) : stat(path, &status)) == 0 ? status : nil
    }

    /// Why that is not a regular file, in words; nil if it is one.
    static func faultOfFile(_ path: String) -> String? {
        guard let status = status(path) else { return lastFault }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return nil
        case S_IFDIR: return "it is a directory"
        default: return "it is a pipe, a device or a socket"
        }
    }
}

/// A file that is written beside its destination, so that it can be moved there in one step.
///
/// It is opened without following symbolic links, must be a regular file of the user's own with this one name,
/// and is readable by its owner only (O5). Before a name is deleted or moved, it is checked to be this file.
///
/// Errors are ``DataSourceError/cannotWrite(_:reason:)`` about its `subject`, unless they say otherwise.
///
/// Not thread-safe; a transfer's lock protects it.
final class PartFile {
    let path: String
    /// What errors name: the destination, or this file if it is a temporary one.
    let subject: URL
    private(set) var byteCount: Int64 = 0
    private let descriptor: CInt
    private var isTemporary = false

    private init(_ path: String, _ descriptor: CInt, for subject: URL) {
        self.path = path
        self.descriptor = descriptor
        self.subject = subject
    }

    deinit {
        if isTemporary { unlink(path) }
        // It may take long: 0.4 s for a removed file of 300 MB. So the last reference is released without a lock.
        close(descriptor)
    }

    /// Makes a new file, and locks it until it is closed; its name must not be taken.
    static func creating(_ path: String, for subject: URL) throws(DataSourceError) -> PartFile {
        while true {
            let descriptor = try opened(path, O_RDWR | O_CREAT | O_EXCL, 0o600, for: subject)
            let part = PartFile(path, descriptor, for: subject)
            // Without a lock, on a file system that has none, it is not recognised as abandoned either.
            guard flock(descriptor, LOCK_EX) == 0 else { return part }
            // Before it was locked, it may have been taken for an abandoned one.
            if part.hasName(path) { return part }
        }
    }

    /// Makes a file in the folder for temporary files, which is removed with this object at the latest.
    static func temporary(_ purpose: String) throws(DataSourceError) -> PartFile {
        let folder = FileManager.default.temporaryDirectory
        let url = folder.appendingPathComponent("\(purpose)-\(UUID().uuidString)")
        let file = try creating(url.path, for: url)
        file.isTemporary = true
        return file
    }

    /// Removes a file that a process which has ended was writing: a file of the user's own, which nobody has locked.
    static func removeAbandoned(_ path: String) {
        let url = URL(fileURLWithPath: path)
        guard let descriptor = try? opened(path, O_RDWR, for: url) else { return }
        let file = PartFile(path, descriptor, for: url)
        let status = status(of: descriptor)
        guard status.st_mode == S_IFREG | 0o600, status.st_nlink == 1, status.st_uid == geteuid(),
            flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else { return }
        file.remove()
    }

    /// Opens the file of that name, new or as an earlier download left it, and locks it until it is closed.
    ///
    /// - Parameter isOurs: Whether a file that is not empty has been left by a download.
    /// - Returns: Nil for a file that no download has made.
    /// - Throws: Also ``DataSourceError/destinationBusy(_:)``, if another download is writing it.
    static func continuing(
        _ path: String, for subject: URL, isOurs: () -> Bool
    ) throws(DataSourceError) -> PartFile? {
        while true {
            // Linux refuses to open a file of another user's with O_CREAT in a folder such as /tmp.
            if let named = FileSystem.status(path, ofLink: true), named.st_uid != geteuid() { return nil }
            let descriptor = try opened(path, O_RDWR | O_CREAT, 0o600, for: subject)
            let part = PartFile(path, descriptor, for: subject)
            let status = status(of: descriptor)
            guard status.st_nlink <= 1, status.st_uid == geteuid() else { return nil }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                if errno == EWOULDBLOCK { throw .destinationBusy(subject) }
                if errno == EINTR { continue }
                throw part.lastFailure
            }
            // Between opening and locking its last owner may have moved it into place, or removed it.
            guard part.hasName(path) else { continue }
            part.byteCount = Int64(lseek(descriptor, 0, SEEK_END))
            guard part.byteCount == 0 || isOurs() else { return nil }
            guard part.byteCount >= 0, fchmod(descriptor, 0o600) == 0 else { throw part.lastFailure }
            return part
        }
    }

    /// Opens a regular file without following a symbolic link, and returns its descriptor.
    static func opened(
        _ path: String, _ flags: CInt, _ mode: mode_t = 0, for subject: URL
    ) throws(DataSourceError) -> CInt {
        var descriptor: CInt = -1
        // A pipe without a reader or writer would block the call, hence O_NONBLOCK.
        repeat {
            descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode)
        } while descriptor < 0 && errno == EINTR
        guard descriptor >= 0 else {
            throw .cannotWrite(
                subject, reason: errno == ELOOP ? "\(path) is a symbolic link" : FileSystem.lastFault)
        }
        guard status(of: descriptor).st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .cannotWrite(subject, reason: "\(path) is not a regular file")
        }
        return descriptor
    }

    static func status(of descriptor: CInt) -> stat {
        var status = stat()
        fstat(descriptor, &status)
        return status
    }

    private var lastFailure: DataSourceError { .cannotWrite(subject, reason: FileSystem.lastFault) }

    // MARK: Writing

    /// Adds bytes at the end.
    func append(_ data: Data) throws {
        for region in data.regions {
            try region.withUnsafeBytes { bytes in
                var rest = bytes
                while let start = rest.baseAddress, rest.count > 0 {
                    let count = pwrite(descriptor, start, rest.count, off_t(byteCount))
                    if count < 0, errno != EINTR { throw lastFailure }
                    if count < 0 { continue }
                    byteCount += Int64(count)
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                }
            }
        }
    }

    /// Adds the bytes of `file` at the end, in pieces of 1 MiB.
    ///
    /// - Throws: Also an error of Foundation's about the other file, and `CancellationError` if `isCancelled`
    ///   returns true, which is called between pieces.
    func append(contentsOf file: URL, unless isCancelled: () -> Bool) throws {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        while let piece = try handle.read(upToCount: 1 << 20), !piece.isEmpty {
            if isCancelled() { throw CancellationError() }
            try append(piece)
        }
    }

    /// Returns up to `limit` bytes.
    func read(at start: Int64, upTo limit: Int) throws(DataSourceError) -> Data {
        let length = Int(min(Int64(limit), byteCount - start))
        // Sound: `pread` writes at most `length` bytes, and only those that it has written are read.
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: length, alignment: 1)
        defer { bytes.deallocate() }
        var count = -1
        repeat { count = pread(descriptor, bytes, length, off_t(start)) } while count < 0 && errno == EINTR
        guard count > 0 else { throw lastFailure }
        return Data(bytes: bytes, count: count)
    }

    /// Returns another descriptor of this file, for the caller to close; a negative number if there are none left.
    func duplicatedDescriptor() -> CInt { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }

    /// Truncates the file to the first `byteCount` bytes.
    func truncate(to byteCount: Int64 = 0) throws(DataSourceError) {
        guard ftruncate(descriptor, off_t(byteCount)) == 0 else { throw lastFailure }
        self.byteCount = byteCount
    }

    // MARK: Ending

    /// Renames the file to its final name, in one step.
    ///
    /// - Parameter replacing: Whether the file that has that name may be replaced, whose mode is kept.
    /// - Throws: Also ``DataSourceError/destinationExists(_:)``, if it may not be, and stays.
    func move(to destination: String, replacing: Bool) throws(DataSourceError) {
        guard hasName(path) else {
            throw .cannotWrite(subject, reason: "the part file has been removed or replaced")
        }
        let existing = FileSystem.status(destination, ofLink: true)
        if existing != nil, !replacing { throw .destinationExists(subject) }
        let mode = existing.map { $0.st_mode & 0o7777 } ?? modeOfNewFiles()
        guard fchmod(descriptor, mode) == 0 else { throw lastFailure }
        if !replacing {
            if link(path, destination) == 0 { return _ = unlink(path) }
            // Not every file system has hard links; then there is a moment between looking and moving.
            if errno == EEXIST || FileSystem.status(destination, ofLink: true) != nil {
                throw .destinationExists(subject)
            }
        }
        guard rename(path, destination) == 0 else { throw lastFailure }
    }

    /// The mode that a new file has in this folder: what the process's mask leaves, which can only be read by
    /// setting it, for all threads.
    private func modeOfNewFiles() -> mode_t {
        let sample = "\(path).\(Destination.uniqueWord())"
        guard let descriptor = try? Self.opened(sample, O_WRONLY | O_CREAT | O_EXCL, 0o666, for: subject)
        else { return Self.modeByMask ?? 0o600 }
        defer { close(descriptor) }
        unlink(sample)
        return Self.status(of: descriptor).st_mode & 0o7777
    }

    /// The mode that the process's mask leaves, for a folder where no sample can be made: on a file system without
    /// inodes, say. Nil where the system does not say it.
    static var modeByMask: mode_t? {
        let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = text?.components(separatedBy: "\n").first { $0.hasPrefix("Umask:") }
        return line.flatMap { mode_t($0.dropFirst(6).trimmingCharacters(in: .whitespaces), radix: 8) }
            .map { 0o666 & ~$0 }
    }

    /// Whether `path` is still a name of this file.
    func hasName(_ path: String) -> Bool {
        guard let named = FileSystem.status(path, ofLink: true) else { return false }
        let opened = Self.status(of: descriptor)
        return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }

    /// Removes the file, whose blocks are freed when it is closed.
    func remove() { if hasName(path) { unlink(path) } }
}
