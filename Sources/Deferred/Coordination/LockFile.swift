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

    private let folder: Descriptor
    private let name: String
    private let file: Descriptor
    /// The process that died while it had the lock before.
    let predecessor: Int32?

    /// Locks the file at `path`, which is created if it does not exist. Never waits.
    init(_ path: String) throws(Failure) {
        (folder, name) = try Self.openFolder(of: path)
        // In each round that does not return, another process has released the lock at that very moment.
        for _ in 0..<1000 {
            let file = try Descriptor(regular: name, in: folder, O_RDWR | O_CREAT)
            try file.lock()
            guard try file.isAt(name, in: folder) else { continue }
            predecessor = try file.owner()
            try file.write("\(getpid())\n")
            self.file = file
            return
        }
        throw .held(by: nil)
    }

    /// Removes the file, if it is still the one that was locked, and releases the lock.
    ///
    /// Between the check and the removal, no process that respects the lock changes the file.
    func release() {
        if (try? file.isAt(name, in: folder)) == true { unlinkat(folder.number, name, 0) }
        flock(file.number, LOCK_UN)
    }

    /// Returns the process that has the lock on the file at `path`, or had it when it died, if its number can be read.
    static func owner(at path: String) -> Int32? {
        guard let (folder, name) = try? openFolder(of: path) else { return nil }
        return try? Descriptor(regular: name, in: folder, O_RDONLY).owner()
    }

    static var currentProcess: Int32 { getpid() }

    /// Returns `path` relative to the root: the current folder may change.
    static func absolute(_ path: String) -> String {
        guard !path.isEmpty, !path.hasPrefix("/"), let current = getcwd(nil, 0) else { return path }
        defer { free(current) }
        let folder = String(cString: current)
        return folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)"
    }

    /// Opens the folder of the file at `path`, and returns it with the file's name.
    private static func openFolder(of path: String) throws(Failure) -> (Descriptor, name: String) {
        guard !path.utf8.contains(0) else { throw .unusable("the path has a NUL character in it") }
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
        guard !name.isEmpty else {
            throw .unusable(path.isEmpty ? "the path is empty" : String(cString: strerror(EISDIR)))
        }
        // Up to the last slash and with it: "/" of "/name".
        let folder = slash.map { String(path[...$0]) } ?? "."
        return (try Descriptor(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY), name)
    }

    /// An open file or folder, which is closed when this is released.
    private final class Descriptor: Sendable {
        let number: CInt

        init(_ folder: CInt, _ name: String, _ flags: CInt) throws(Failure) {
            var number: CInt
            repeat {
                number = openat(folder, name, flags | O_CLOEXEC, 0o644)
            } while number < 0 && errno == EINTR
            guard number >= 0 else {
                let isLink = errno == ELOOP && flags & O_NOFOLLOW != 0
                throw .unusable(isLink ? "it is a symbolic link" : Self.reason())
            }
            self.number = number
        }

        /// Opens a regular file without following symbolic links.
        convenience init(regular name: String, in folder: Descriptor, _ access: CInt) throws(Failure) {
            // Without O_NONBLOCK, opening a pipe would wait for its other end.
            try self.init(folder.number, name, access | O_NOFOLLOW | O_NONBLOCK)
            var status = stat()
            guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                throw .unusable("it is not a regular file")
            }
        }

        deinit { close(number) }

        func lock() throws(Failure) {
            while flock(number, LOCK_EX | LOCK_NB) != 0 {
                if errno == EWOULDBLOCK { throw .held(by: try? owner()) }
                if errno != EINTR { throw .unusable(Self.reason()) }
            }
        }

        func isAt(_ name: String, in folder: Descriptor) throws(Failure) -> Bool {
            var (open, named) = (stat(), stat())
            guard fstat(number, &open) == 0,
                fstatat(folder.number, name, &named, AT_SYMLINK_NOFOLLOW) == 0 || errno == ENOENT
            else { throw .unusable(Self.reason()) }
            return open.st_dev == named.st_dev && open.st_ino == named.st_ino
        }

        /// Returns the process number in the file; nil if it is empty. A file with other contents is foreign and must
        /// not be overwritten.
        func owner() throws(Failure) -> Int32? {
            var bytes = [UInt8](repeating: 0, count: 32)
            let count = pread(number, &bytes, bytes.count, 0)
            guard count >= 0 else { throw .unusable(Self.reason()) }
            if count == 0 { return nil }
            let text = String(decoding: bytes[..<count], as: UTF8.self)
            guard text.last == "\n", let owner = Int32(text.dropLast()), owner > 0 else {
                throw .unusable("it exists and is not a lock file")
            }
            return owner
        }

        func write(_ text: String) throws(Failure) {
            let bytes = Array(text.utf8)
            // Written in one piece, and truncated only then, so that a concurrent reader sees a number.
            guard pwrite(number, bytes, bytes.count, 0) == bytes.count,
                ftruncate(number, off_t(bytes.count)) == 0
            else { throw .unusable(Self.reason()) }
        }

        private static func reason() -> String { String(cString: strerror(errno)) }
    }
}
