import LoopbackServer

/// Measurements that take some seconds to arrive, so that there is time to end the program.
enum DemoSource {
    static func start() throws -> LoopbackServer {
        let server = try LoopbackServer()
        let bytes = (0..<20_000).flatMap { Array("station\($0 % 50),\($0 % 40)\n".utf8) }
        server.route("/measurements") { request in
            let offset =
                request[header: "Range"].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0
            guard offset < bytes.count else { return .status(416) }
            return Answer { exchange in
                let range = ("Content-Range", "bytes \(offset)-\(bytes.count - 1)/\(bytes.count)")
                try exchange.sendHead(
                    offset > 0 ? 206 : 200, [("ETag", "\"demo\""), range], contentLength: bytes.count - offset
                )
                for start in stride(from: offset, to: bytes.count, by: 4_000) {
                    try exchange.pause(milliseconds: 50)
                    try exchange.send(Array(bytes[start..<min(start + 4_000, bytes.count)]))
                }
            }
        }
        return server
    }
}
