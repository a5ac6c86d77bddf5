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

/// A file that one process at a time holds open and locked; its text is the number of that process.
///
/// The lock is the kernel's (`flock`), which lets go of it when the process dies, however it dies. The file
/// is removed when the lock is released, while it is still held. So a text that is found in a file just
/// locked is that of a process that died; and a file that is locked but stands no longer at its path was
/// removed by the one before, and is not the lock.
struct LockFile {
    enum Failure: Error {
        case held(by: Int32?)
        case unusable(String)
    }

    private let descriptor: CInt
    private let path: String
    /// The process that died holding the lock before.
    let predecessor: Int32?

    /// Locks the file at `path`, which is made if it is not there. Never waits.
    init(_ path: String) throws(Failure) {
        // Each round, another process has released the lock at the very moment.
        for _ in 0..<1000 {
            let descriptor = try Self.open(path)
            do throws(Failure) {
                try Self.lock(descriptor)
                if try Self.isAt(path, descriptor) {
                    predecessor = try Self.owner(descriptor)
                    try Self.write("\(getpid())\n", descriptor)
                    self.descriptor = descriptor
                    self.path = path
                    return
                }
            } catch {
                close(descriptor)
                throw error
            }
            close(descriptor)
        }
        throw .held(by: nil)
    }

    /// Lets go of the lock; once.
    func release() {
        unlink(path)
        close(descriptor)
    }

    /// The process that holds the file at `path`, or held it when it died, as far as is to be seen.
    static func owner(at path: String) -> Int32? {
        guard let descriptor = try? open(path, creating: false) else { return nil }
        defer { close(descriptor) }
        return try? owner(descriptor)
    }

    static var currentProcess: Int32 { getpid() }

    private static func open(_ path: String, creating: Bool = true) throws(Failure) -> CInt {
        guard !path.utf8.contains(0) else { throw .unusable("the path has a NUL character in it") }
        let flags = O_CLOEXEC | O_NONBLOCK | (creating ? O_RDWR | O_CREAT : O_RDONLY)
        while true {
            #if canImport(Darwin)
            let descriptor = Darwin.open(path, flags, 0o644)
            #elseif canImport(Glibc)
            let descriptor = Glibc.open(path, flags, 0o644)
            #elseif canImport(Musl)
            let descriptor = Musl.open(path, flags, 0o644)
            #elseif canImport(Android)
            let descriptor = Android.open(path, flags, 0o644)
            #endif
            if descriptor >= 0 { return descriptor }
            if errno != EINTR { throw .unusable(reason()) }
        }
    }

    private static func lock(_ descriptor: CInt) throws(Failure) {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { throw .held(by: try? owner(descriptor)) }
            if errno != EINTR { throw .unusable(reason()) }
        }
    }

    private static func isAt(_ path: String, _ descriptor: CInt) throws(Failure) -> Bool {
        var (open, named) = (stat(), stat())
        guard fstat(descriptor, &open) == 0 else { throw .unusable(reason()) }
        guard open.st_mode & S_IFMT == S_IFREG else { throw .unusable("it is not a regular file") }
        guard stat(path, &named) == 0 else {
            if errno == ENOENT { return false }
            throw .unusable(reason())
        }
        return open.st_dev == named.st_dev && open.st_ino == named.st_ino
    }

    /// The process that the file names; nil if it is empty. Anything else is somebody's file and not to be
    /// written over.
    private static func owner(_ descriptor: CInt) throws(Failure) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count >= 0 else { throw .unusable(reason()) }
        if count == 0 { return nil }
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        guard text.last == "\n", let owner = Int32(text.dropLast()), owner > 0 else {
            throw .unusable("it is there and is not a lock file")
        }
        return owner
    }

    private static func write(_ text: String, _ descriptor: CInt) throws(Failure) {
        let bytes = Array(text.utf8)
        // In one piece, and only then shorter: who reads meanwhile sees a number.
        guard pwrite(descriptor, bytes, bytes.count, 0) == bytes.count,
            ftruncate(descriptor, off_t(bytes.count)) == 0
        else { throw .unusable(reason()) }
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}
