/// The code of the threads of one run, and the check when they have ended.
struct Program {
    let threads: [() -> Void]
    /// Returns a description of the failure; nil if there is none.
    let check: () -> String?

    init(
        _ first: @escaping () -> Void, _ second: @escaping () -> Void, check: @escaping () -> String?
    ) {
        threads = [first, second]
        self.check = check
    }

    init(
        _ first: @escaping () -> Void, _ second: @escaping () -> Void, _ third: @escaping () -> Void,
        check: @escaping () -> String?
    ) {
        threads = [first, second, third]
        self.check = check
    }
}

/// A program that is run once for each of its schedules.
struct Scenario {
    let name: String
    /// Whether accesses to static atomics, such as the flag that states whether a recording is active, are
    /// scheduling points.
    let includesGlobals: Bool
    let makeProgram: () -> Program
}

/// All scenarios, in the order defined.
nonisolated(unsafe) private(set) var scenarios: [Scenario] = []

/// Defines a scenario. `makeProgram` sets up what the threads of one run share; what `check` looks at has to
/// be named in it (see `hold`), as the optimiser releases what is not used any more.
func scenario(_ name: String, includesGlobals: Bool = false, _ makeProgram: @escaping () -> Program) {
    precondition(!scenarios.contains { $0.name == name }, "two scenarios are called \(name)")
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

/// Keeps objects alive up to this call.
@inline(never)
func hold(_ things: Any...) {}
