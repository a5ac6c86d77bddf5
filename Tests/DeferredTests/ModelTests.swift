import TestSupport
import Testing

/// Random programs, run on the library and on the ``Model`` of its contract.
///
/// `DEFERRED_SEED` sets the first seed and `DEFERRED_PROGRAMS` the number of programs. A program's seed
/// reproduces it: `DEFERRED_SEED=… DEFERRED_PROGRAMS=1`.
@Suite("Reference model", .ownThreads, .watchdog)
struct ModelTests {
    private static let firstSeed = UInt64(environment: "DEFERRED_SEED") ?? 20_260_000
    private static let programs = Extent.programs(3_000)

    /// Z1, Z2, C7: an input of a cancelled list that a pause holds back, with a finalizer.
    @Test(
        "F1-U1: programs that showed a fault of either do the same on both",
        arguments: [1_019_769, 1_119_460])
    func program(seed: UInt64) {
        let program = ProgramGenerator.program(seed: seed)
        if let difference = Comparison(program).difference { Issue.record("\(program)\n\(difference)") }
    }

    @Test(
        "F1-U1, D1-D4: random programs do on the engine what they do on the model",
        arguments: 0..<2 as Range<UInt64>)
    func programs(share: UInt64) {
        let shares: UInt64 = Self.programs == 1 ? 1 : 2
        guard share < shares else { return }
        var undetermined = 0
        var reasons: [String: Int] = [:]
        var events = 0
        for seed in stride(
            from: Self.firstSeed + share, to: Self.firstSeed + Self.programs, by: Int(shares))
        {
            let program = ProgramGenerator.program(seed: seed)
            let comparison = Comparison(program)
            events += comparison.eventCount
            if let reason = comparison.undetermined {
                undetermined += 1
                reasons[reason, default: 0] += 1
            }
            guard comparison.difference != nil else { continue }
            let shrunk = program.shrunk { Comparison($0).difference != nil }
            Issue.record(
                """
                DEFERRED_SEED=\(seed) DEFERRED_PROGRAMS=1
                \(shrunk)
                \(Comparison(shrunk).difference ?? "")
                """)
            return
        }
        let count = Int(Self.programs / shares)
        print("\(count) programs with \(events) events; \(undetermined) of them ended early")
        for (reason, count) in reasons { print("  \(count): \(reason)") }
        #expect(
            count == 1 || undetermined * 20 <= count,
            "too much of what is generated is left open by the rules")
    }
}
