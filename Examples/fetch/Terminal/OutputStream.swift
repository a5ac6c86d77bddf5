import Deferred
import Foundation

/// Standard output, standard error, a pipe or a device, written to without a buffer.
struct OutputStream: Sendable {
    let descriptor: CInt
    let name: String

    static let standardOutput = OutputStream(descriptor: STDOUT_FILENO, name: "standard output")
    static let standardError = OutputStream(descriptor: STDERR_FILENO, name: "standard error")

    /// Sees to it that nothing that is opened later is taken for one of the standard streams, where whoever
    /// started the program has closed them. What stands in for them can't be read from, or written to.
    static func takeClosedDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Opens the pipe, when somebody reads it, or the device at `path`; gives up when `isCancelled` says so.
    static func opening(_ path: String, unless isCancelled: () -> Bool) throws -> OutputStream {
        while !isCancelled() {
            // Without this flag it would be the opening that waits for a reader.
            let descriptor = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
            if descriptor >= 0 { return OutputStream(descriptor: descriptor, name: path) }
            if errno == ENXIO, FileKind(path) == .pipe {
                poll(nil, 0, 50)
            } else if errno != EINTR {
                throw Failure(name: path, code: errno)
            }
        }
        throw CancellationError()
    }

    func close() { Foundation.close(descriptor) }

    /// Fires when nobody reads any more what is written, or when it can't be written to at all.
    func whenBroken() -> Deferred<Failure> {
        let (broken, resolver) = Deferred<Failure>.withResolver()
        guard fcntl(descriptor, F_GETFL) & O_ACCMODE != O_RDONLY else {
            resolver.resolve(Failure(name: name, code: EBADF))
            return broken
        }
        Thread.detachNewThread { [self] in
            // No event is asked for: what is left is that the other end has gone.
            var watched = pollfd(fd: descriptor, events: 0, revents: 0)
            while poll(&watched, 1, -1) <= 0 {}
            resolver.resolve(Failure(name: name, code: EPIPE))
        }
        return broken
    }

    /// Writes all of it; throws when nobody reads any more, or there is no room.
    func write(_ text: String) throws(Failure) {
        var text = text
        let code = text.withUTF8 { writeAll(UnsafeRawBufferPointer($0)) }
        if let code { throw Failure(name: name, code: code) }
    }

    /// Writes all of it, in pieces, as fast as they are read; gives up when `isCancelled` says so.
    func write(_ data: Data, unless isCancelled: () -> Bool) throws {
        var rest = data[...]
        while !rest.isEmpty {
            if isCancelled() { throw CancellationError() }
            // A pipe that is ready has room for this much: the write does not block, and a cancel is seen
            // soon.
            let piece = rest.prefix(4096)
            guard waitUntilReady(milliseconds: 50) else { continue }
            if let code = piece.withUnsafeBytes(writeAll) { throw Failure(name: name, code: code) }
            rest = rest.dropFirst(piece.count)
        }
    }

    /// Whether there is room within so long, for ever if negative; or an error that a write would show.
    private func waitUntilReady(milliseconds: CInt) -> Bool {
        var ready = pollfd(fd: descriptor, events: CShort(POLLOUT), revents: 0)
        return poll(&ready, 1, milliseconds) > 0
    }

    /// What could not be written was refused for this reason.
    struct Failure: Error, CustomStringConvertible {
        let name: String
        let code: CInt

        var description: String {
            switch code {
            case EPIPE: "\(name) was closed by its reader"
            case EBADF: "\(name) is closed"
            default: "\(name): \(Reason.words(for: code))"
            }
        }
    }

    /// Nil, or what went wrong.
    private func writeAll(_ bytes: UnsafeRawBufferPointer) -> CInt? {
        var rest = bytes
        while let start = rest.baseAddress, !rest.isEmpty {
            let count = Foundation.write(descriptor, start, rest.count)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else if errno == EAGAIN {
                // Someone made it non-blocking, for all who share it: wait until there is room.
                _ = waitUntilReady(milliseconds: -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return nil
    }
}
