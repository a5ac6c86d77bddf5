import TestSupport
import Testing

/// Random programs, and the rules as properties of their finished runs.
///
/// `DEFERRED_SEED` sets the first seed and `DEFERRED_PROGRAMS` the number of programs of each theme. A program's seed
/// reproduces it: `DEFERRED_SEED=… DEFERRED_PROGRAMS=1 swift test --filter PropertyTests`.
@Suite("Properties of finished runs", .ownThreads, .watchdog)
struct PropertyTests {
    private static let programs = Extent.programs(400, share: 1 / 6)

    @Test(
        "C1-C7, F1-F4, L1-L5, P1, Z1-Z3, U1, V1-V3, Q1-Q6, A1, A2: programs that combine what the library has",
        arguments: UserProgram.Theme.allCases)
    func programs(theme: UserProgram.Theme) {
        var events = 0
        for seed in Extent.firstSeed..<(Extent.firstSeed + Self.programs) {
            let program = UserProgram.random(theme, seed: seed)
            let verdict = Verdict(program, seed: seed)
            events += verdict.history.end
            guard let violation = verdict.violations.first else { continue }
            let shrunk = program.shrunk { Verdict($0, seed: seed).contradicts(violation.property) }
            let text = Verdict(shrunk, seed: seed).violations.first { $0.property == violation.property }?
                .text
            Issue.record(
                """
                DEFERRED_SEED=\(seed) DEFERRED_PROGRAMS=1, \(theme): \(violation.property)
                \(text ?? violation.text)
                \(shrunk)
                """)
            return
        }
        print("\(Self.programs) programs of \(theme) with \(events) events")
    }
}
