#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A barrier that a test opens. An answer waits for it, so that no test needs to sleep.
///
/// It is a pipe: waiting is a `poll` of its reading end, together with the connection's socket. Opening
/// writes a byte that is never read, which wakes all present waits and lets later ones pass. (Closing the
/// writing end would have the same effect only if no child process had a copy of it.)
public final class Gate: Sendable {
    private let readingEnd: CInt
    private let writingEnd: CInt
    private let isOpen = Monitor(false)

    /// Creates a closed gate.
    public init() {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else {
            fatalError("no descriptors left for a gate: \(String(cString: strerror(errno)))")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        readingEnd = ends[0]
        writingEnd = ends[1]
    }

    deinit {
        close(writingEnd)
        close(readingEnd)
    }

    /// Ends all waits, including later ones. Opening twice has no effect.
    public func open() {
        let isFirst = isOpen.withLock { isOpen in
            defer { isOpen = true }
            return !isOpen
        }
        var byte: UInt8 = 1
        if isFirst { _ = write(writingEnd, &byte, 1) }
    }

    /// Why a wait ended.
    enum Passage { case opened, clientLeft, timedOut }

    /// What tells of the end of a connection although there are bytes to read.
    #if os(Linux)
    private static let ends = CShort(POLLHUP | POLLERR) | 0x2000  // POLLRDHUP
    #else
    private static let ends = CShort(POLLHUP | POLLERR)
    #endif

    /// Blocks until this gate opens, the client at the other end of `socket` closes the connection (or the
    /// server shuts it down), or `milliseconds` have passed; a negative number means no limit.
    func wait(watching socket: Socket?, milliseconds: CInt = -1) -> Passage {
        var watched = [pollfd(fd: readingEnd, events: CShort(POLLIN), revents: 0)]
        if let socket { watched.append(pollfd(fd: socket.descriptor, events: CShort(POLLIN), revents: 0)) }
        while true {
            let count = poll(&watched, nfds_t(watched.count), milliseconds)
            if count < 0, errno == EINTR { continue }
            if count == 0 { return .timedOut }
            if watched[0].revents != 0 { return .opened }
            guard let socket, watched.count == 2 else { return .opened }
            if socket.isAtEnd || watched[1].revents & Self.ends != 0 { return .clientLeft }
            // The client has sent its next request early, or a body that is not read: from now on only the end of the
            // connection matters.
            watched[1].events = Self.ends
        }
    }

    /// Blocks until a client connects to `listener` (returns true) or this gate opens (returns false).
    func waitForConnection(on listener: Socket) -> Bool {
        var watched = [
            pollfd(fd: readingEnd, events: CShort(POLLIN), revents: 0),
            pollfd(fd: listener.descriptor, events: CShort(POLLIN), revents: 0),
        ]
        while true {
            let count = poll(&watched, 2, -1)
            if count < 0, errno == EINTR { continue }
            return count > 0 && watched[0].revents == 0
        }
    }
}
