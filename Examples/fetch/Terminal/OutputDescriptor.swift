import Deferred
import Foundation
import Synchronization

/// A file descriptor for unbuffered writing: standard output, standard error, a pipe or a device.
struct OutputDescriptor: Sendable {
    let descriptor: CInt
    let name: String

    static let standardOutput = OutputDescriptor(descriptor: STDOUT_FILENO, name: "standard output")
    static let standardError = OutputDescriptor(descriptor: STDERR_FILENO, name: "standard error")

    /// When writes stop waiting for a reader; nil while they wait as long as it takes.
    private static let deadline = Mutex<ContinuousClock.Instant?>(nil)

    /// Makes writes that wait for a reader fail from that time on: a program that is interrupted ends, also if nobody
    /// reads what it writes.
    static func stopWaiting(after delay: Duration) { deadline.withLock { $0 = .now + delay } }

    static var hasStoppedWaiting: Bool { deadline.withLock { $0.map { $0 <= .now } ?? false } }

    /// Opens the standard streams that are closed, so that no file opened later takes their descriptors.
    /// They are opened such that reading from them, or writing to them, fails.
    static func takeClosedDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Opens the device at `path`, or the pipe once it has a reader. Throws `CancellationError` when
    /// `isCancelled` returns true.
    static func opening(_ path: String, unless isCancelled: () -> Bool) throws -> OutputDescriptor {
        while !isCancelled() {
            // Without O_NONBLOCK, `open` itself would wait for a reader, and could not be cancelled.
            let descriptor = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
            if descriptor >= 0 { return OutputDescriptor(descriptor: descriptor, name: path) }
            if errno == ENXIO, FileKind(path) == .pipe {
                poll(nil, 0, 50)
            } else if errno != EINTR {
                throw Failure(name: path, code: errno)
            }
        }
        throw CancellationError()
    }

    /// Whether `path` leads to what standard output is, such as `/dev/stdout`. `/dev/null` may be both.
    static func isStandardOutput(_ path: String) -> Bool {
        var (own, other, null) = (stat(), stat(), stat())
        guard fstat(STDOUT_FILENO, &own) == 0, stat(path, &other) == 0, own.st_dev == other.st_dev,
            own.st_ino == other.st_ino
        else { return false }
        return stat("/dev/null", &null) != 0 || null.st_ino != own.st_ino || null.st_dev != own.st_dev
    }

    func close() { Foundation.close(descriptor) }

    /// Returns a Deferred that is resolved when the descriptor has no reader any more, or cannot be written
    /// to at all.
    func whenBroken() -> Deferred<Failure> {
        let (broken, resolver) = Deferred<Failure>.withResolver()
        guard fcntl(descriptor, F_GETFL) & O_ACCMODE != O_RDONLY else {
            resolver.resolve(Failure(name: name, code: EBADF))
            return broken
        }
        Thread.detachNewThread { [self] in
            // Without requested events, `poll` only reports that the other end was closed.
            var watched = pollfd(fd: descriptor, events: 0, revents: 0)
            while poll(&watched, 1, -1) <= 0 {}
            resolver.resolve(Failure(name: name, code: EPIPE))
        }
        return broken
    }

    /// Writes all of `text`. Throws if there is no reader any more, or no space.
    func write(_ text: String) throws(Failure) {
        var text = text
        let code = text.withUTF8 { writeAll(UnsafeRawBufferPointer($0)) }
        if let code { throw Failure(name: name, code: code) }
    }

    /// Writes all of `data`, in pieces, as fast as they are read. Throws `CancellationError` when
    /// `isCancelled` returns true.
    ///
    /// - Parameter count: Called with the length of each piece that has been written.
    func write(_ data: Data, unless isCancelled: () -> Bool, counting count: (Int) -> Void = { _ in }) throws
    {
        var rest = data[...]
        while !rest.isEmpty {
            if isCancelled() { throw CancellationError() }
            // So little that a cancellation is noticed soon.
            let piece = rest.prefix(4096)
            guard waitUntilReady(milliseconds: 50) else { continue }
            if let code = piece.withUnsafeBytes(writeAll) { throw Failure(name: name, code: code) }
            count(piece.count)
            rest = rest.dropFirst(piece.count)
        }
    }

    /// Waits until a write would not block, at most so long. Returns whether one would not, which includes one that
    /// would fail.
    private func waitUntilReady(milliseconds: CInt) -> Bool {
        var ready = pollfd(fd: descriptor, events: CShort(POLLOUT), revents: 0)
        return poll(&ready, 1, milliseconds) > 0
    }

    /// The error of a write.
    struct Failure: Error, CustomStringConvertible {
        let name: String
        let code: CInt

        var description: String {
            switch code {
            case EPIPE: "\(name) was closed by its reader"
            case EBADF: "\(name) is closed"
            case ECANCELED: "\(name) was not read"
            default: "\(name): \(ErrorText.words(for: code))"
            }
        }
    }

    /// Writes all bytes. Returns the error's code, or nil.
    private func writeAll(_ bytes: UnsafeRawBufferPointer) -> CInt? {
        var rest = bytes
        while let start = rest.baseAddress, !rest.isEmpty {
            guard waitUntilReady(milliseconds: Self.hasStoppedWaiting ? 0 : 50) else {
                if Self.hasStoppedWaiting { return ECANCELED }
                continue
            }
            // A pipe that is ready has room for this much, so that the write does not block.
            let count = Foundation.write(descriptor, start, min(rest.count, 4096))
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else if errno != EINTR, errno != EAGAIN {
                // EAGAIN: another process that shares the descriptor made it non-blocking.
                return errno
            }
        }
        return nil
    }
}
