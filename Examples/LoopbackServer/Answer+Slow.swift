/// Slow answers: delayed until a test opens a gate, or by the clock for the demo.
extension Answer {
    /// Sends `answer` once the gate is open.
    public static func held(by gate: Gate, then answer: Answer) -> Answer {
        Answer { exchange in
            try exchange.wait(for: gate)
            try answer.play(exchange)
        }
    }

    /// Sends so many bytes of ``Pattern``: the first `sentBefore` at once, the rest when the gate is open.
    public static func pattern(
        _ byteCount: Int, heldAfter sentBefore: Int, by gate: Gate, headers: [(String, String)] = []
    ) -> Answer {
        Answer { exchange in
            try exchange.sendHead(200, headers, contentLength: byteCount)
            try exchange.sendPattern(0..<sentBefore)
            try exchange.wait(for: gate)
            try exchange.sendPattern(sentBefore..<byteCount)
        }
    }

    /// Sends a byte of ``Pattern`` as each of the gates opens, then the end.
    public static func drip(_ gates: [Gate]) -> Answer {
        Answer { exchange in
            try exchange.sendHead(200, contentLength: gates.count)
            for (offset, gate) in gates.enumerated() {
                try exchange.wait(for: gate)
                try exchange.sendPattern(offset..<offset + 1)
            }
        }
    }

    /// Sends so many bytes of ``Pattern``, `atOnce` of them per interval.
    public static func drip(_ byteCount: Int, atOnce: Int, everyMilliseconds: Int) -> Answer {
        Answer { exchange in
            try exchange.sendHead(200, contentLength: byteCount)
            for start in stride(from: 0, to: byteCount, by: atOnce) {
                try exchange.pause(milliseconds: everyMilliseconds)
                try exchange.sendPattern(start..<min(start + atOnce, byteCount))
            }
        }
    }

    /// Sends ``Pattern`` without end, `atOnce` bytes per interval; no length is announced.
    public static func endlessDrip(atOnce: Int, everyMilliseconds: Int) -> Answer {
        Answer { exchange in
            exchange.keepsAlive = false
            try exchange.sendHead(200)
            var start = 0
            while true {
                try exchange.pause(milliseconds: everyMilliseconds)
                try exchange.sendPattern(start..<start + atOnce)
                start += atOnce
            }
        }
    }

    /// Sends `answer` after a delay.
    public static func delayed(milliseconds: Int, then answer: Answer) -> Answer {
        Answer { exchange in
            try exchange.pause(milliseconds: milliseconds)
            try answer.play(exchange)
        }
    }

    /// Sends nothing.
    public static let stalled = Answer { try $0.stall() }

    /// Announces a body, sends part of it, and then nothing more.
    public static func stalled(after sent: Int, of byteCount: Int, headers: [(String, String)] = []) -> Answer
    {
        Answer { exchange in
            try exchange.sendHead(200, headers, contentLength: byteCount)
            try exchange.sendPattern(0..<sent)
            try exchange.stall()
        }
    }
}
