/// What the server does with a request: a value that says how, played once for each request.
///
/// This file has the well-behaved ones; what an unfriendly network does is in the files beside it.
public struct Answer: Sendable {
    let play: @Sendable (Exchange) throws -> Void

    /// An answer that is written out, call by call, against the ``Exchange``; runs on the connection's
    /// thread.
    public init(_ play: @escaping @Sendable (Exchange) throws -> Void) {
        self.play = play
    }

    /// Bytes with their length.
    public static func bytes(
        _ body: [UInt8], status: Int = 200, headers: [(String, String)] = []
    ) -> Answer {
        Answer { exchange in
            try exchange.sendHead(status, headers, contentLength: body.count)
            if exchange.request.method != "HEAD" { try exchange.send(body) }
        }
    }

    /// Text with its length.
    public static func text(
        _ body: String, status: Int = 200, headers: [(String, String)] = [("Content-Type", "text/plain")]
    ) -> Answer {
        bytes(Array(body.utf8), status: status, headers: headers)
    }

    /// A document of JSON.
    public static func json(_ body: String, status: Int = 200) -> Answer {
        text(body, status: status, headers: [("Content-Type", "application/json")])
    }

    /// A status with a line of text as its body.
    public static func status(_ status: Int, headers: [(String, String)] = []) -> Answer {
        text("status \(status)\n", status: status, headers: headers + [("Content-Type", "text/plain")])
    }

    /// A status and no body at all, as 204 and 304 are.
    public static func empty(_ status: Int, headers: [(String, String)] = []) -> Answer {
        Answer { try $0.sendHead(status, headers, contentLength: status == 204 || status == 304 ? nil : 0) }
    }

    /// So many bytes of ``Pattern``, in constant memory.
    public static func pattern(_ byteCount: Int, headers: [(String, String)] = []) -> Answer {
        Answer { exchange in
            try exchange.sendHead(200, headers, contentLength: byteCount)
            if exchange.request.method != "HEAD" { try exchange.sendPattern(0..<byteCount) }
        }
    }

    /// A body in chunked transfer encoding, its length not announced.
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

    /// A body that ends where the connection does, its length not announced.
    public static func untilClose(_ body: [UInt8], headers: [(String, String)] = []) -> Answer {
        Answer { exchange in
            exchange.keepsAlive = false
            try exchange.sendHead(200, headers)
            try exchange.send(body)
        }
    }

    /// A body that the caller has compressed already.
    public static func gzip(_ compressed: [UInt8], headers: [(String, String)] = []) -> Answer {
        bytes(compressed, headers: headers + [("Content-Encoding", "gzip")])
    }

    /// Another place to look. The location may be relative.
    public static func redirect(to location: String, status: Int = 302) -> Answer {
        text("moved to \(location)\n", status: status, headers: [("Location", location)])
    }

    /// The request as the server saw it: its request line and headers, an empty line, its body.
    public static let echo = Answer { exchange in
        let body = Array((exchange.request.head + "\r\n").utf8) + exchange.request.body
        try exchange.sendHead(200, [("Content-Type", "text/plain")], contentLength: body.count)
        if exchange.request.method != "HEAD" { try exchange.send(body) }
    }

    /// An informational answer (100 Continue, 103 Early Hints) ahead of the final one.
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

    /// The same, with the connection closed afterwards.
    public var closingConnection: Answer {
        Answer { exchange in
            exchange.keepsAlive = false
            try play(exchange)
        }
    }

    /// Asks for a name and password (401), and gives `answer` to whom knows them.
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
