/// Answers that take their time: as long as a test wants, or by the clock for the demo.
extension Answer {
    /// Gives `answer` once the gate is open.
    public static func held(by gate: Gate, then answer: Answer) -> Answer {
        Answer { exchange in
            try exchange.wait(for: gate)
            try answer.play(exchange)
        }
    }

    /// So many bytes of ``Pattern``, of which the first `sentBefore` come at once and the rest when the gate
    /// is open.
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

    /// A byte of ``Pattern`` for each of the gates, as it opens, then the end: a drip in a test's hand.
    public static func drip(_ gates: [Gate]) -> Answer {
        Answer { exchange in
            try exchange.sendHead(200, contentLength: gates.count)
            for (offset, gate) in gates.enumerated() {
                try exchange.wait(for: gate)
                try exchange.sendPattern(offset..<offset + 1)
            }
        }
    }

    /// So many bytes of ``Pattern``, `atOnce` of them every so often.
    public static func drip(_ byteCount: Int, atOnce: Int, everyMilliseconds: Int) -> Answer {
        Answer { exchange in
            try exchange.sendHead(200, contentLength: byteCount)
            for start in stride(from: 0, to: byteCount, by: atOnce) {
                try exchange.pause(milliseconds: everyMilliseconds)
                try exchange.sendPattern(start..<min(start + atOnce, byteCount))
            }
        }
    }

    /// Gives `answer` after so long.
    public static func delayed(milliseconds: Int, then answer: Answer) -> Answer {
        Answer { exchange in
            try exchange.pause(milliseconds: milliseconds)
            try answer.play(exchange)
        }
    }

    /// Never says a word.
    public static let stalled = Answer { try $0.stall() }

    /// Announces a body, sends some of it, and says no more.
    public static func stalled(after sent: Int, of byteCount: Int, headers: [(String, String)] = []) -> Answer
    {
        Answer { exchange in
            try exchange.sendHead(200, headers, contentLength: byteCount)
            try exchange.sendPattern(0..<sent)
            try exchange.stall()
        }
    }
}
