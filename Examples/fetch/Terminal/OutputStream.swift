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

    /// Writes all of it; throws when nobody reads any more, or there is no room.
    func write(_ data: Data) throws(Failure) {
        if let code = data.withUnsafeBytes(writeAll) { throw Failure(code: code) }
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
                var ready = pollfd(fd: descriptor, events: CShort(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return nil
    }
}
