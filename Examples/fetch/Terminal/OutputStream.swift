import Foundation

/// Standard output or standard error, written to without a buffer.
struct OutputStream: Sendable {
    let descriptor: CInt

    static let standardOutput = OutputStream(descriptor: STDOUT_FILENO)
    static let standardError = OutputStream(descriptor: STDERR_FILENO)

    /// Writes all of it; throws when nobody reads any more, or there is no room.
    func write(_ text: String) throws(Failure) {
        var text = text
        let code = text.withUTF8 { writeAll(UnsafeRawBufferPointer($0)) }
        if let code { throw Failure(code: code) }
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
            if let code = piece.withUnsafeBytes(writeAll) { throw Failure(code: code) }
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
        let code: CInt

        var description: String {
            code == EPIPE
                ? "standard output was closed by its reader" : "standard output: \(Reason.words(for: code))"
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
