import TestSupport
import Testing

/// Random programs, run on the library and on the ``OrderModel`` of its contract.
///
/// `DEFERRED_SEED` sets the first seed and `DEFERRED_PROGRAMS` the number of programs. A program's seed
/// reproduces it: `DEFERRED_SEED=… DEFERRED_PROGRAMS=1`.
@Suite("Model of the order", .ownThreads, .watchdog)
struct ModelTests {
    private static let programs = Extent.programs(3_000)

    @Test("F1-F5, L1-L5, P1, Z1-Z3, D1-D3, A1: programs without cancels do what they do on the model")
    func programs() {
        var (events, leftOpen) = (0, 0)
        for seed in Extent.firstSeed..<(Extent.firstSeed + Self.programs) {
            let program = UserProgram.random(.order, seed: seed)
            let comparison = OrderComparison(program)
            events += comparison.eventCount
            leftOpen += comparison.leftOpen == nil ? 0 : 1
            guard comparison.difference != nil else { continue }
            let shrunk = program.shrunk { OrderComparison($0).difference != nil }
            Issue.record(
                """
                DEFERRED_SEED=\(seed) DEFERRED_PROGRAMS=1
                \(shrunk)
                \(OrderComparison(shrunk).difference ?? "")
                """)
            return
        }
        print("\(Self.programs) programs with \(events) events; \(leftOpen) of them ended early")
        #expect(Self.programs == 1 || leftOpen * 20 <= Self.programs, "the rules leave too much of it open")
    }
}
