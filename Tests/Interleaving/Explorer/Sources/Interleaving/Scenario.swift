import CInterleaving

/// The code of the threads of one run, and the check when they have ended.
public struct Program {
    let threads: [() -> Void]
    /// Returns a description of the failure; nil if there is none.
    let check: () -> String?

    /// Creates a program of two or three threads.
    public init(
        _ first: @escaping () -> Void, _ second: @escaping () -> Void, _ third: (() -> Void)? = nil,
        check: @escaping () -> String?
    ) {
        threads = [first, second] + (third.map { [$0] } ?? [])
        self.check = check
    }
}

/// A program that is written by hand.
public struct Scenario: Searched {
    let name: String
    /// Returns whether accesses to static atomics are scheduling points.
    public let includesGlobals: Bool
    let makeProgram: () -> Program

    /// Returns its name.
    public var description: String { name }

    /// Runs the schedules.
    public func judged(_ options: SearchOptions) -> Judgement {
        // Objects that are created once, such as static properties, are created now: in the first schedule no thread is
        // stopped, which would leave such an object half made.
        SearchOptions.Mode.bounded(1).begin(includesGlobals: includesGlobals)
        for _ in 0..<(includesGlobals ? 1000 : 20) where il_next() { runOnce() }
        return Judgement(options, includesGlobals: includesGlobals) { run() }
    }

    /// Runs the schedule that is next.
    public func runOnce() { _ = run() }

    private func run() -> (status: Int, fault: String?) {
        let atomics = il_cells_alive()
        var end: (() -> Void)? = Explorer.aroundRun()
        var failure: String?
        do {
            let program = makeProgram()
            let status = runThreads(program.threads)
            if status != IL_ENDED {
                end?()
                return (status, il_failure().map { String(cString: $0) } ?? "no thread can go on")
            }
            failure = program.check()
        }
        end?()
        end = nil
        failure = failure ?? il_failure().map { String(cString: $0) }
        let leaked = il_cells_alive() - atomics
        if failure == nil, leaked != 0 { failure = "leaked: \(leaked) atomics are left" }
        return (IL_ENDED, failure)
    }
}

extension Scenario {
    /// All that were defined, in that order.
    nonisolated(unsafe) static var all: [Scenario] = []
}

/// Defines a scenario. `makeProgram` sets up what the threads of one run share; what `check` looks at has to
/// be named in it (see `hold`), as the optimiser releases what is not used any more.
public func scenario(_ name: String, includesGlobals: Bool = false, _ makeProgram: @escaping () -> Program) {
    Scenario.all.append(Scenario(name: name, includesGlobals: includesGlobals, makeProgram: makeProgram))
}

/// Runs every schedule of a program, and returns what was seen: by default those with up to two preemptions.
public func explore(_ mode: SearchOptions.Mode = .bounded(2), _ makeProgram: @escaping () -> Program)
    -> Judgement
{
    var options = SearchOptions()
    options.mode = mode
    return Scenario(name: "", includesGlobals: false, makeProgram: makeProgram).judged(options)
}

/// Returns the first text that is not nil.
public func all(_ texts: String?...) -> String? { texts.compactMap { $0 }.first }

/// Returns `text` unless `condition` is true.
public func expect(_ condition: Bool, _ text: @autoclosure () -> String) -> String? {
    condition ? nil : text()
}

/// Keeps objects alive up to this call.
@inline(never)
public func hold(_ things: Any...) {}
