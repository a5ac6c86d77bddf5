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

/// A file that one process at a time has open and locked; it contains the number of that process.
///
/// The lock is the kernel's (`flock`), which releases it when the process ends, however that ends. The file is emptied
/// and removed when the lock is released, while it is still locked. Therefore a number found in a file just locked is
/// that of a process that died; and a file that is locked but no longer at its path was removed by the holder before,
/// and is not the lock. ``LockFileContents`` says what is found wherever a process was killed.
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
            let contents = try file.contents()
            do throws(Failure) {
                try file.record(getpid(), after: contents)
            } catch {
                if contents.owner == nil { file.remove(at: name, in: folder) }
                throw error
            }
            predecessor = contents.owner
            self.file = file
            return
        }
        throw .held(by: nil)
    }

    /// Removes the file, and releases the lock.
    func release() {
        file.remove(at: name, in: folder)
        flock(file.number, LOCK_UN)
    }

    /// Returns the process that has the lock on the file at `path`, or had it when it died, if its number can be read.
    static func owner(at path: String) -> Int32? {
        guard let (folder, name) = try? openFolder(of: path) else { return nil }
        return try? Descriptor(regular: name, in: folder, O_RDONLY).contents().owner
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
                if errno == EWOULDBLOCK { throw .held(by: try? contents().owner) }
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

        /// Reads the file, which must not be changed if it is foreign.
        func contents() throws(Failure) -> LockFileContents {
            var bytes = [UInt8](repeating: 0, count: LockFileContents.readLength)
            let count = try Self.retry { pread(number, &bytes, bytes.count, 0) }
            guard let contents = LockFileContents(Array(bytes[..<count])) else {
                throw .unusable("it exists and is not a lock file")
            }
            return contents
        }

        /// Makes `process` the owner. If this throws, the owner is the same as before.
        func record(_ process: Int32, after contents: LockFileContents) throws(Failure) {
            let (recording, tidying) = contents.changes(owner: process)
            for change in recording { try make(change) }
            // The number counts now. Each is made only after the one before.
            try? tidying.forEach(make)
        }

        /// Empties the file, and removes it if it is still the one of that name.
        ///
        /// A file that was moved, or cannot be removed, then does not name a process that has not died. Between the
        /// check and the removal, no process that respects the lock changes the file.
        func remove(at name: String, in folder: Descriptor) {
            try? make(.truncate(to: 0))
            if (try? isAt(name, in: folder)) == true { unlinkat(folder.number, name, 0) }
        }

        private func make(_ change: LockFileContents.Change) throws(Failure) {
            switch change {
            case .write(let bytes, at: var offset):
                var rest = bytes[...]
                while !rest.isEmpty {
                    let count = try Self.retry {
                        rest.withUnsafeBytes { pwrite(number, $0.baseAddress, $0.count, off_t(offset)) }
                    }
                    // Or this would not end.
                    guard count > 0 else { throw .unusable(String(cString: strerror(ENOSPC))) }
                    rest = rest.dropFirst(count)
                    offset += count
                }
            case .truncate(to: let length):
                _ = try Self.retry { Int(ftruncate(number, off_t(length))) }
            }
        }

        /// Makes a call, again if a signal interrupted it.
        private static func retry(_ call: () -> Int) throws(Failure) -> Int {
            while true {
                let result = call()
                if result >= 0 { return result }
                if errno != EINTR { throw .unusable(reason()) }
            }
        }

        private static func reason() -> String { String(cString: strerror(errno)) }
    }
}
