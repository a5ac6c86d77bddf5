import CInterleaving
import Deferred
import DeferredTracing

/// The code of the threads of one run, and the check when they have ended.
struct Program {
    let threads: [() -> Void]
    /// Returns a description of the failure; nil if there is none.
    let check: () -> String?

    init(
        _ first: @escaping () -> Void, _ second: @escaping () -> Void, _ third: (() -> Void)? = nil,
        check: @escaping () -> String?
    ) {
        threads = [first, second] + (third.map { [$0] } ?? [])
        self.check = check
    }
}

/// A program that is written by hand.
struct Scenario: Searched {
    let name: String
    let includesGlobals: Bool
    let makeProgram: () -> Program

    var description: String { name }

    func judged(_ options: SearchOptions) -> Judgement {
        // Objects that are created once, such as static properties, are created now.
        for _ in 0..<2 { for thread in makeProgram().threads { thread() } }
        SearchOptions.Mode.bounded(1).begin(includesGlobals: includesGlobals)
        for _ in 0..<(includesGlobals ? 1000 : 20) where il_next() { runOnce() }
        return Judgement(options, includesGlobals: includesGlobals) { run() }
    }

    func runOnce() { _ = run() }

    private func run() -> (status: Int, fault: String?) {
        reports = []
        let recording = startRecording()
        defer {
            recording?.stop()
            AwaitProbe.forgetAll()
        }
        let atomics = il_cells_alive()
        var failure: String?
        do {
            let program = makeProgram()
            let status = runThreads(program.threads)
            if status != IL_ENDED {
                return (status, il_failure().map { String(cString: $0) } ?? "no thread can go on")
            }
            failure = program.check()
        }
        AwaitProbe.forgetAll()
        failure = failure ?? il_failure().map { String(cString: $0) }
        let leaked = il_cells_alive() - atomics
        if failure == nil, leaked != 0 { failure = "leaked: \(leaked) atomics are left" }
        return (IL_ENDED, failure)
    }
}

/// All scenarios, in the order defined.
nonisolated(unsafe) private(set) var scenarios: [Scenario] = []

/// Defines a scenario. `makeProgram` sets up what the threads of one run share; what `check` looks at has to
/// be named in it (see `hold`), as the optimiser releases what is not used any more.
func scenario(_ name: String, includesGlobals: Bool = false, _ makeProgram: @escaping () -> Program) {
    scenarios.append(Scenario(name: name, includesGlobals: includesGlobals, makeProgram: makeProgram))
}

/// Returns the first text that is not nil.
func all(_ texts: String?...) -> String? { texts.compactMap { $0 }.first }

/// Returns `text` unless `condition` is true.
func expect(_ condition: Bool, _ text: @autoclosure () -> String) -> String? { condition ? nil : text() }

/// Returns the reports of the run if there are any.
func noReports() -> String? { expect(reports.isEmpty, "reported: \(reports)") }

/// The diagnostics that the run has reported.
nonisolated(unsafe) var reports: [String] = []

/// Whether a recording is active during each run.
nonisolated(unsafe) var recordsRuns = false

func startRecording() -> DeferredRecording? { recordsRuns ? DeferredDiagnostics.startRecording() : nil }

/// Keeps objects alive up to this call.
@inline(never)
func hold(_ things: Any...) {}
