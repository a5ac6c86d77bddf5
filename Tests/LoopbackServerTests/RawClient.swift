#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A minimal client: sends bytes and reads bytes, so that the server is tested byte by byte.
final class RawClient {
    private let descriptor: CInt

    init(_ port: UInt16) {
        #if canImport(Glibc)
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        precondition(status == 0, "cannot connect: \(String(cString: strerror(errno)))")
    }

    deinit { close(descriptor) }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        bytes.withUnsafeBytes { bytes in
            var rest = bytes
            while let start = rest.baseAddress, rest.count > 0 {
                let count = write(descriptor, start, rest.count)
                precondition(count > 0, "cannot send: \(String(cString: strerror(errno)))")
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }

    /// Returns the next bytes, at most so many; empty at the end; nil after a reset.
    func receive(_ count: Int = 1 << 16) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: count)
        let received = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, count) }
        return received < 0 ? nil : Array(buffer.prefix(received))
    }

    /// Returns everything up to the end of the connection.
    func receiveText() -> String {
        var all: [UInt8] = []
        while let some = receive(), !some.isEmpty { all += some }
        return String(decoding: all, as: UTF8.self)
    }

    /// Sends a request, and returns everything up to the end of the connection.
    func request(_ text: String) -> String {
        send(text)
        return receiveText()
    }

    /// Reads up to `end`, inclusive.
    func receive(upTo end: String) -> String {
        var all: [UInt8] = []
        while !String(decoding: all, as: UTF8.self).hasSuffix(end), let byte = receive(1), !byte.isEmpty {
            all += byte
        }
        return String(decoding: all, as: UTF8.self)
    }
}
