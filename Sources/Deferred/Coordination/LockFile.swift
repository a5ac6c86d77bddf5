// The C library: neither Swift's own libraries nor Dispatch can lock a file.
#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Android)
internal import Android
#endif

/// A file that one process at a time has open and locked; its text is the number of that process.
///
/// The lock is the kernel's (`flock`), which releases it when the process ends, however that ends. The file is
/// removed when the lock is released, while it is still locked. Therefore a number found in a file just locked is
/// that of a process that died; and a file that is locked but no longer at its path was removed by the holder before,
/// and is not the lock.
///
/// The folder is opened once, and the file is named relative to it, so that the same folder is meant from locking to
/// release. Symbolic links in place of the file are not followed, and nothing but a regular file is locked.
struct LockFile {
    enum Failure: Error {
        case held(by: Int32?)
        case unusable(String)
    }

    private let folder: CInt
    private let name: String
    private let descriptor: CInt
    /// The process that died while it had the lock before.
    let predecessor: Int32?

    /// Locks the file at `path`, which is created if it does not exist. Never waits.
    init(_ path: String) throws(Failure) {
        let (folder, name) = try Self.openFolder(of: path)
        do throws(Failure) {
            (descriptor, predecessor) = try Self.lock(name, in: folder)
        } catch {
            close(folder)
            throw error
        }
        self.folder = folder
        self.name = name
    }

    /// Removes the file, if it is still the one that was locked, and releases the lock; call it once.
    ///
    /// Between the check and the removal, no process that respects the lock changes the file.
    func release() {
        if (try? Self.isAt(name, in: folder, descriptor)) == true { unlinkat(folder, name, 0) }
        close(descriptor)
        close(folder)
    }

    /// Returns the process that has the lock on the file at `path`, or had it when it died, if its number can be read.
    static func owner(at path: String) -> Int32? {
        guard let (folder, name) = try? openFolder(of: path) else { return nil }
        defer { close(folder) }
        guard let descriptor = try? open(name, in: folder, O_RDONLY) else { return nil }
        defer { close(descriptor) }
        return try? owner(descriptor)
    }

    static var currentProcess: Int32 { getpid() }

    /// Returns `path` relative to the root: the current folder may change.
    static func absolute(_ path: String) -> String {
        guard !path.isEmpty, !path.hasPrefix("/"), let current = getcwd(nil, 0) else { return path }
        defer { free(current) }
        let folder = String(cString: current)
        return folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)"
    }

    private static func lock(_ name: String, in folder: CInt) throws(Failure) -> (CInt, predecessor: Int32?) {
        // In each round that does not return, another process has released the lock at that very moment.
        for _ in 0..<1000 {
            let descriptor = try open(name, in: folder, O_RDWR | O_CREAT)
            do throws(Failure) {
                try lock(descriptor)
                if try isAt(name, in: folder, descriptor) {
                    let predecessor = try owner(descriptor)
                    try write("\(getpid())\n", descriptor)
                    return (descriptor, predecessor)
                }
            } catch {
                close(descriptor)
                throw error
            }
            close(descriptor)
        }
        throw .held(by: nil)
    }

    /// Opens the folder of the file at `path`, and returns it with the file's name.
    private static func openFolder(of path: String) throws(Failure) -> (CInt, name: String) {
        guard !path.utf8.contains(0) else { throw .unusable("the path has a NUL character in it") }
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
        guard !name.isEmpty else {
            throw .unusable(path.isEmpty ? "the path is empty" : String(cString: strerror(EISDIR)))
        }
        // Up to the last slash and with it: "/" of "/name".
        let folder = slash.map { String(path[...$0]) } ?? "."
        return (try openFile(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY), name)
    }

    /// Opens a regular file without following symbolic links.
    private static func open(_ name: String, in folder: CInt, _ access: CInt) throws(Failure) -> CInt {
        // Without O_NONBLOCK, opening a pipe would wait for its other end.
        let descriptor = try openFile(folder, name, access | O_NOFOLLOW | O_NONBLOCK)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw .unusable("it is not a regular file")
        }
        return descriptor
    }

    private static func openFile(_ folder: CInt, _ name: String, _ flags: CInt) throws(Failure) -> CInt {
        while true {
            let flags = flags | O_CLOEXEC
            let descriptor = openat(folder, name, flags, 0o644)
            if descriptor >= 0 { return descriptor }
            if errno == ELOOP && flags & O_NOFOLLOW != 0 { throw .unusable("it is a symbolic link") }
            if errno != EINTR { throw .unusable(reason()) }
        }
    }

    private static func lock(_ descriptor: CInt) throws(Failure) {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { throw .held(by: try? owner(descriptor)) }
            if errno != EINTR { throw .unusable(reason()) }
        }
    }

    private static func isAt(_ name: String, in folder: CInt, _ descriptor: CInt) throws(Failure) -> Bool {
        var (open, named) = (stat(), stat())
        guard fstat(descriptor, &open) == 0 else { throw .unusable(reason()) }
        guard fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 else {
            if errno == ENOENT { return false }
            throw .unusable(reason())
        }
        return open.st_dev == named.st_dev && open.st_ino == named.st_ino
    }

    /// Returns the process number in the file; nil if it is empty. A file with other contents is foreign and must not
    /// be overwritten.
    private static func owner(_ descriptor: CInt) throws(Failure) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count >= 0 else { throw .unusable(reason()) }
        if count == 0 { return nil }
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        guard text.last == "\n", let owner = Int32(text.dropLast()), owner > 0 else {
            throw .unusable("it exists and is not a lock file")
        }
        return owner
    }

    private static func write(_ text: String, _ descriptor: CInt) throws(Failure) {
        let bytes = Array(text.utf8)
        // Written in one piece, and truncated only then, so that a concurrent reader sees a number.
        guard pwrite(descriptor, bytes, bytes.count, 0) == bytes.count,
            ftruncate(descriptor, off_t(bytes.count)) == 0
        else { throw .unusable(reason()) }
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}
