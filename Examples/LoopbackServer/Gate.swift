#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Something that holds until a test opens it: an answer waits at a gate, so that no test needs to sleep.
///
/// A pipe underneath: waiting is a `poll` of its reading end, together with the connection's socket, and
/// opening puts a byte in that nobody takes out, which wakes everyone who waits now and lets pass everyone
/// who comes later. (To close the writing end would do too, unless a child process has a copy of it.)
public final class Gate: Sendable {
    private let readingEnd: CInt
    private let writingEnd: CInt
    private let isOpen = Monitor(false)

    /// A gate that is shut.
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

    /// Lets everyone pass from now on. Opening twice does nothing.
    public func open() {
        let isFirst = isOpen.withLock { isOpen in
            defer { isOpen = true }
            return !isOpen
        }
        var byte: UInt8 = 1
        if isFirst { _ = write(writingEnd, &byte, 1) }
    }

    /// What `wait` came back with.
    enum Passage { case opened, clientLeft, timedOut }

    /// Blocks until this gate opens, the client at the other end of `socket` leaves (or the server shuts it
    /// down), or `milliseconds` have passed; negative is for ever.
    func wait(watching socket: Socket?, milliseconds: CInt = -1) -> Passage {
        var watched = [pollfd(fd: readingEnd, events: CShort(POLLIN), revents: 0)]
        if let socket { watched.append(pollfd(fd: socket.descriptor, events: CShort(POLLIN), revents: 0)) }
        while true {
            let count = poll(&watched, nfds_t(watched.count), milliseconds)
            if count < 0, errno == EINTR { continue }
            if count == 0 { return .timedOut }
            if watched[0].revents != 0 { return .opened }
            guard let socket, watched.count == 2 else { return .opened }
            if socket.isAtEnd { return .clientLeft }
            // The client has only sent its next request early: from here on a hang-up alone is of interest.
            watched[1].events = 0
        }
    }

    /// Blocks until someone wants to connect to `listener` (true) or this gate opens (false).
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
