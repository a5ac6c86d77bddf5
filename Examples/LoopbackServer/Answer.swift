/// Describes the server's answer to a request; runs once for each request.
///
/// This file has the answers of a correct server; the files beside it have those of a faulty network.
public struct Answer: Sendable {
    let play: @Sendable (Exchange) throws -> Void

    /// Creates an answer that is written call by call to the ``Exchange``, on the connection's thread.
    public init(_ play: @escaping @Sendable (Exchange) throws -> Void) {
        self.play = play
    }

    /// Sends bytes with their length.
    public static func bytes(
        _ body: [UInt8], status: Int = 200, headers: [(String, String)] = []
    ) -> Answer {
        Answer { exchange in
            try exchange.sendHead(status, headers, contentLength: body.count)
            if exchange.request.method != "HEAD" { try exchange.send(body) }
        }
    }

    /// Sends text with its length.
    public static func text(
        _ body: String, status: Int = 200, headers: [(String, String)] = [("Content-Type", "text/plain")]
    ) -> Answer {
        bytes(Array(body.utf8), status: status, headers: headers)
    }

    /// Sends a JSON document.
    public static func json(_ body: String, status: Int = 200) -> Answer {
        text(body, status: status, headers: [("Content-Type", "application/json")])
    }

    /// Sends a status with a line of text as its body.
    public static func status(_ status: Int, headers: [(String, String)] = []) -> Answer {
        text("status \(status)\n", status: status, headers: headers + [("Content-Type", "text/plain")])
    }

    /// Sends a status without a body, as for 204 and 304.
    public static func empty(_ status: Int, headers: [(String, String)] = []) -> Answer {
        Answer { try $0.sendHead(status, headers, contentLength: status == 204 || status == 304 ? nil : 0) }
    }

    /// Sends so many bytes of ``Pattern``, in constant memory.
    public static func pattern(_ byteCount: Int, headers: [(String, String)] = []) -> Answer {
        Answer { exchange in
            try exchange.sendHead(200, headers, contentLength: byteCount)
            if exchange.request.method != "HEAD" { try exchange.sendPattern(0..<byteCount) }
        }
    }

    /// Sends a body in chunked transfer encoding; its length is not announced.
    public static func chunked(_ chunks: [[UInt8]], headers: [(String, String)] = []) -> Answer {
        Answer { exchange in
            try exchange.sendHead(200, headers + [("Transfer-Encoding", "chunked")])
            for chunk in chunks where !chunk.isEmpty {
                try exchange.send(String(chunk.count, radix: 16) + "\r\n")
                try exchange.send(chunk + [13, 10])
            }
            try exchange.send("0\r\n\r\n")
        }
    }

    /// Sends a body that ends with the connection; its length is not announced.
    public static func untilClose(_ body: [UInt8], headers: [(String, String)] = []) -> Answer {
        Answer { exchange in
            exchange.keepsAlive = false
            try exchange.sendHead(200, headers)
            try exchange.send(body)
        }
    }

    /// Sends a body that the caller has already compressed.
    public static func gzip(_ compressed: [UInt8], headers: [(String, String)] = []) -> Answer {
        bytes(compressed, headers: headers + [("Content-Encoding", "gzip")])
    }

    /// Redirects to another location, which may be relative.
    public static func redirect(to location: String, status: Int = 302) -> Answer {
        text("moved to \(location)\n", status: status, headers: [("Location", location)])
    }

    /// Sends the request back as the server received it: its request line and headers, an empty line, its
    /// body.
    public static let echo = Answer { exchange in
        let body = Array((exchange.request.head + "\r\n").utf8) + exchange.request.body
        try exchange.sendHead(200, [("Content-Type", "text/plain")], contentLength: body.count)
        if exchange.request.method != "HEAD" { try exchange.send(body) }
    }

    /// Sends an informational answer (100 Continue, 103 Early Hints) before the final one.
    public static func interim(_ status: Int, headers: [(String, String)] = [], then answer: Answer) -> Answer
    {
        Answer { exchange in
            let keepsAlive = exchange.keepsAlive
            exchange.keepsAlive = true
            try exchange.sendHead(status, headers)
            try exchange.sendHeldBack()
            exchange.keepsAlive = keepsAlive
            try answer.play(exchange)
        }
    }

    /// Sends the same, and closes the connection afterwards.
    public var closingConnection: Answer {
        Answer { exchange in
            exchange.keepsAlive = false
            try play(exchange)
        }
    }

    /// Asks for a name and password (401), and sends `answer` to a client that has them.
    ///
    /// - Parameter credentials: `name:password` in Base64, as the header has it.
    public static func authenticated(
        basic credentials: String, realm: String = "loopback", then answer: Answer
    ) -> Answer {
        Answer { exchange in
            guard exchange.request[header: "Authorization"] == "Basic \(credentials)" else {
                return try Answer.status(401, headers: [("WWW-Authenticate", "Basic realm=\"\(realm)\"")])
                    .play(exchange)
            }
            try answer.play(exchange)
        }
    }
}
