internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

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

    /// Makes a new file, and locks it until it is closed; its name must not be taken.
    static func creating(_ path: String) throws(FileFailure) -> PartFile {
        while true {
            let part = PartFile(path, try opened(path, O_WRONLY | O_CREAT | O_EXCL, 0o600), 0)
            // Without a lock, on a file system that has none, it is not recognised as abandoned either.
            guard flock(part.descriptor, LOCK_EX) == 0 else { return part }
            // Before it was locked, it may have been taken for an abandoned one.
            if part.isNamed(path) { return part }
        }
    }

    /// Removes a file that a process which has ended was writing: a file of the user's own, which nobody has locked.
    static func removeAbandoned(_ path: String) {
        guard let descriptor = try? opened(path, O_RDWR | O_NONBLOCK) else { return }
        defer { closeDescriptor(descriptor) }
        guard let status = try? Self.status(of: descriptor), status.st_mode == S_IFREG | 0o600,
            status.st_nlink == 1, status.st_uid == geteuid(), flock(descriptor, LOCK_EX | LOCK_NB) == 0,
            isNamed(path, descriptor)
        else { return }
        unlink(path)
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
            } catch  where error.code == ELOOP {
                throw FileFailure(code: ELOOP, words: "\(path) is a symbolic link")
            }
            var mustClose = true
            defer { if mustClose { closeDescriptor(descriptor) } }
            let status = try Self.status(of: descriptor)
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw FileFailure(code: EINVAL, words: "\(path) is not a regular file")
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

    private static func opened(_ path: String, _ flags: CInt, _ mode: mode_t = 0) throws(FileFailure) -> CInt
    {
        while true {
            let descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode)
            if descriptor >= 0 { return descriptor }
            if errno != EINTR { throw .last }
        }
    }

    private static func status(of descriptor: CInt) throws(FileFailure) -> stat {
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
    func append(_ data: Data) throws(FileFailure) {
        try data.write(to: descriptor, at: &byteCount)
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
        guard Self.isNamed(path, descriptor) else {
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

    /// Closes the file.
    func close() {
        guard descriptor >= 0 else { return }
        closeDescriptor(descriptor)
        descriptor = -1
    }

    /// Removes the file. Its blocks are freed by ``close()``: 0.4 s for 300 MB, too long under a lock.
    func remove() {
        if Self.isNamed(path, descriptor) { unlink(path) }
    }
}

private func closeDescriptor(_ descriptor: CInt) {
    close(descriptor)
}

/// The data needed to continue a part file. It is stored in a separate file beside that, readable by its
/// owner only.
struct ResumeRecord: Codable, Equatable {
    /// The address that was requested, without user and password.
    let url: String
    /// The caller's own `Range` header.
    var range: String?
    /// The validator for `If-Range`: a strong entity tag or a date.
    /// Nil if the server sent neither: the part can't be continued by a later download.
    var validator: String?
    /// The date that the server sent, which several mirrors of one file are likely to share.
    var lastModified: String?
    /// The position in the resource of the part file's first byte; nil for 0.
    var offset: Int64?
    /// The length of the whole resource, if it is known.
    var total: Int64?

    /// Creates a record for a part file that another program has left.
    init(for url: URL, range: String?, validator: String) {
        self.url = url.withoutUserInfo.absoluteString
        self.range = range
        self.validator = validator
    }

    /// Creates a record of the answer `response` to a request for `url`.
    init(_ response: HTTPURLResponse, for url: URL, range: String?) {
        self.url = url.withoutUserInfo.absoluteString
        self.range = range
        lastModified = response.value(forHTTPHeaderField: "Last-Modified")
        if response.value(forHTTPHeaderField: "Accept-Ranges")?.lowercased() != "none" {
            validator = Self.validator(of: response)
        }
    }

    /// Whether a request for `url` with that `Range` header asks for the same thing.
    func isOf(_ url: URL?, range: String?) -> Bool {
        self.url == url?.withoutUserInfo.absoluteString && self.range == range
    }

    /// Returns a strong entity tag or the date; a weak tag does not identify bytes.
    static func validator(of response: HTTPURLResponse) -> String? {
        if let tag = response.value(forHTTPHeaderField: "ETag"), !tag.isEmpty, !tag.hasPrefix("W/") {
            return tag
        }
        return response.value(forHTTPHeaderField: "Last-Modified")
    }
}

/// The file that a ``ResumeRecord`` is kept in.
struct ResumeRecordFile {
    let path: String

    /// The result of reading the file.
    enum Finding {
        case nothing
        case record(ResumeRecord)
        /// A file that no download has made.
        case foreign
    }

    /// Reads the file, without following symbolic links.
    ///
    /// - Throws: A failure if it is not a regular file.
    func read() throws(FileFailure) -> Finding {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return .nothing }
            if errno == ELOOP { throw FileFailure(code: ELOOP, words: "\(path) is a symbolic link") }
            throw .last
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileFailure(code: EINVAL, words: "\(path) is not a regular file")
        }
        guard status.st_size <= 1 << 16, status.st_uid == geteuid(),
            let data = try? handle.read(upToCount: 1 << 16),
            let record = try? JSONDecoder().decode(ResumeRecord.self, from: data)
        else { return .foreign }
        return .record(record)
    }

    /// Writes the record, in one step; false if that could not be done.
    func write(_ record: ResumeRecord) -> Bool {
        guard let data = try? JSONEncoder().encode(record),
            let file = try? PartFile.creating(
                "\(path).\(String(UInt32.random(in: .min ... .max), radix: 16))")
        else { return false }
        guard (try? file.append(data)) != nil, rename(file.path, path) == 0 else {
            file.remove()
            return false
        }
        return true
    }

    /// Removes the file, if it is a record.
    func remove() {
        if case .record? = try? read() { unlink(path) }
    }
}
