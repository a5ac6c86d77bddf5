#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A TCP socket on the loopback interface: the calls that the server needs, which retry after `EINTR` and do
/// not raise `SIGPIPE`.
struct Socket: Sendable {
    let descriptor: CInt

    /// The connection has ended: the client closed it, or the server is stopping.
    struct Ended: Error {}

    /// Binds the loopback address to a free port and listens on it.
    static func listening(
        _ family: LoopbackServer.Family
    ) throws(LoopbackServer.StartError) -> (socket: Socket, port: UInt16) {
        switch family {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let socket = try listening(AF_INET, &address)
            return (socket, UInt16(bigEndian: address.sin_port))
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_addr = in6addr_loopback
            let socket = try listening(AF_INET6, &address)
            return (socket, UInt16(bigEndian: address.sin6_port))
        }
    }

    /// - Parameter address: An address without a port. The system writes the port that it chose into it.
    private static func listening<Address>(
        _ family: CInt, _ address: inout Address
    ) throws(LoopbackServer.StartError) -> Socket {
        #if canImport(Glibc)
        let descriptor = socket(family, CInt(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(family, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw .init(call: "socket", code: errno) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let listener = Socket(descriptor: descriptor)

        var length = socklen_t(MemoryLayout<Address>.size)
        let failure = withUnsafeMutablePointer(to: &address) { pointer -> String? in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard bind(descriptor, generic, length) == 0 else { return "bind" }
                guard listen(descriptor, 1024) == 0 else { return "listen" }
                guard getsockname(descriptor, generic, &length) == 0 else { return "getsockname" }
                return nil
            }
        }
        if let failure {
            let code = errno
            listener.close()
            throw .init(call: failure, code: code)
        }
        return listener
    }

    /// Accepts the next connection; nil if that is not possible.
    func accepted() -> Socket? {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { return nil }
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        var on: CInt = 1
        setsockopt(connection, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        #if canImport(Darwin)
        setsockopt(connection, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<CInt>.size))
        #endif
        return Socket(descriptor: connection)
    }

    /// Sends all of `bytes`; waits until the client has read enough of them.
    func send(_ bytes: UnsafeRawBufferPointer) throws(Ended) {
        #if canImport(Darwin)
        let flags: CInt = 0
        #else
        let flags = CInt(MSG_NOSIGNAL)
        #endif
        var rest = bytes
        while let start = rest.baseAddress, rest.count > 0 {
            let count = sendBytes(descriptor, start, rest.count, flags)
            if count > 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else if count < 0, errno == EINTR {
                continue
            } else {
                throw Ended()
            }
        }
    }

    /// Waits for bytes and returns how many arrived; nil at the end of the stream or if the connection broke.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return count }
            if count < 0, errno == EINTR { continue }
            return nil
        }
    }

    /// Returns whether the client has closed its end (not if bytes wait to be read).
    var isAtEnd: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT))
        return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
    }

    /// Ends both directions, which wakes threads that read, write or poll; the descriptor stays open.
    func shutDown() {
        shutdown(descriptor, CInt(SHUT_RDWR))
    }

    /// Ends sending: the client sees the end even if a child process has a copy of the descriptor.
    func finishSending() {
        shutdown(descriptor, CInt(SHUT_WR))
    }

    /// Makes the coming `close()` send a reset instead of an orderly end.
    func resetWhenClosed() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    func close() {
        closeDescriptor(descriptor)
    }
}

// Inside `Socket`, its own `send` and `close` hide the system's.
private func sendBytes(_ descriptor: CInt, _ start: UnsafeRawPointer, _ count: Int, _ flags: CInt) -> Int {
    send(descriptor, start, count, flags)
}

private func closeDescriptor(_ descriptor: CInt) {
    close(descriptor)
}
