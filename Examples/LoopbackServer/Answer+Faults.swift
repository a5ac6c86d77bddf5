/// Faults of a hostile network.
extension Answer {
    /// Announces `byteCount` bytes, sends fewer and closes.
    public static func truncated(after sent: Int, of byteCount: Int, headers: [(String, String)] = [])
        -> Answer
    {
        Answer { exchange in
            try exchange.sendHead(200, headers, contentLength: byteCount)
            try exchange.sendPattern(0..<sent)
            try exchange.hangUp()
        }
    }

    /// Sends a chunked body that ends in the middle of a chunk.
    public static let truncatedChunk = Answer { exchange in
        try exchange.sendHead(200, [("Transfer-Encoding", "chunked")])
        try exchange.send("40\r\nonly this")
        try exchange.hangUp()
    }

    /// Closes the connection without an answer.
    public static let hungUp = Answer { try $0.hangUp() }

    /// Resets the connection instead of answering.
    public static let reset = Answer { try $0.reset() }

    /// Resets the connection in the middle of the body once the gate is open. A reset discards bytes that the
    /// client has not read yet, so a test opens the gate after the client has read them.
    public static func reset(
        after sent: Int, of byteCount: Int, when gate: Gate? = nil, headers: [(String, String)] = []
    ) -> Answer {
        Answer { exchange in
            try exchange.sendHead(200, headers, contentLength: byteCount)
            try exchange.sendPattern(0..<sent)
            if let gate { try exchange.wait(for: gate) }
            try exchange.reset()
        }
    }

    /// Sends bytes that are not HTTP.
    public static let malformed = Answer { exchange in
        try exchange.send("SORRY, WE ARE CLOSED\r\n\r\nno such protocol\r\n")
        try exchange.hangUp()
    }

    /// Sends a status line whose status is not a number.
    public static let malformedStatus = Answer { exchange in
        try exchange.send("HTTP/1.1 twohundred OK\r\nContent-Length: 0\r\n\r\n")
        try exchange.hangUp()
    }

    /// Sends a body that is announced as gzip but is not compressed.
    public static let badGzip = Answer.gzip(Array("this was never compressed".utf8))

    /// Sends a body without end, until the client closes the connection.
    public static let endless = Answer { exchange in
        try exchange.sendHead(200)
        while true { try exchange.sendPattern(0..<251 * 256) }
    }

    /// Sends so many headers before a small body; nil for headers without end.
    public static func headerFlood(_ count: Int?) -> Answer {
        Answer { exchange in
            try exchange.send("HTTP/1.1 200 OK\r\n")
            var sent = 0
            while count.map({ sent < $0 }) ?? true {
                try exchange.send("X-Flood-\(sent): \(String(repeating: "x", count: 64))\r\n")
                sent += 1
            }
            try exchange.send("Content-Length: 2\r\n\r\nok")
        }
    }

    /// Sends one header of so many bytes.
    public static func longHeader(_ byteCount: Int) -> Answer {
        .text("ok", headers: [("X-Long", String(repeating: "x", count: byteCount))])
    }

    /// Sends status 503 (or another) with `Retry-After`, in seconds or as a date.
    public static func unavailable(retryAfter: String, status: Int = 503) -> Answer {
        .status(status, headers: [("Retry-After", retryAfter)])
    }
}
