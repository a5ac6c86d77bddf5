import CInterleaving

/// Searches scenarios and prints the results.
struct SearchReport {
    private let options: SearchOptions

    init(_ options: SearchOptions) { self.options = options }

    /// Returns whether no search failed.
    func search(_ scenarios: [Scenario]) -> Bool {
        var total: UInt64 = 0
        var incomplete = 0
        var failed: [String] = []
        var seconds = 0.0
        for scenario in scenarios {
            for mode in options.modes {
                let result = Search(scenario: scenario, mode: mode, options: options).run()
                total += result.schedules - result.redundant
                seconds += result.seconds
                if !result.isComplete && result.failure == nil { incomplete += 1 }
                write(result, of: scenario, mode)
                if let failure = result.failure {
                    failed.append(scenario.name)
                    print(failure, of: scenario)
                    break
                }
            }
        }
        Swift.print(
            """
            \(scenarios.count) scenarios, \(total) schedules, \(incomplete) searches cut off, \
            \(failed.count) violations, \(Int(seconds)) s
            """)
        for name in failed { Swift.print("violated: \(name)") }
        return failed.isEmpty
    }

    private func write(_ result: Search.Result, of scenario: Scenario, _ mode: SearchOptions.Mode) {
        let schedules = result.schedules - result.redundant
        let end = result.failure != nil ? "VIOLATED" : result.isComplete ? "complete" : "cut off"
        if options.isQuiet && result.failure == nil { return }
        let spins = result.forcedSwitches > 0 ? ", \(result.forcedSwitches) forced switches" : ""
        Swift.print(
            """
            \(padded(scenario.name, 36)) \(padded(name(of: mode), 14)) \(padded("\(schedules)", 9)) \
            \(end), depth \(result.depth)\(spins), \(Int(result.seconds * 1000)) ms
            """)
    }

    private func name(of mode: SearchOptions.Mode) -> String {
        switch mode {
        case .reduced: "reduced"
        case .bounded(let bound): "bound \(bound)"
        case .random(let seed): "random \(seed)"
        case .replay: "replay"
        }
    }

    private func print(_ failure: Search.Failure, of scenario: Scenario) {
        Swift.print(
            """
              \(failure.text)
              with \(failure.preemptions) preemptions; again: explore \(scenario.name) --replay \(failure.schedule)
            """)
        Trace.print(failure.schedule, of: scenario, options)
    }
}
