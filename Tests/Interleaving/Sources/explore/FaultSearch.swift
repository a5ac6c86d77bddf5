import CInterleaving
import PlantedFaults

/// Searches for each planted fault with the scenario that finds it: a search that finds nothing may be one that
/// can find nothing.
struct FaultSearch {
    private let options: SearchOptions

    init(_ options: SearchOptions) { self.options = options }

    /// Returns whether each was found.
    func run() -> Bool {
        let faults = PlantedFault.all.filter { fault in
            options.plantedFault.map { $0 == fault.number } ?? true
        }.enumerated().filter { $0.offset % options.part.count == options.part.index }.map(\.element)
        if options.listsScenarios { return writeTable(faults) }
        let missed = faults.filter { !find($0) }
        print("\(faults.count - missed.count) of \(faults.count) planted faults found")
        for fault in missed { print("not found: \(fault.number), \(fault.title)") }
        return missed.isEmpty
    }

    /// Searches in a process of its own, which the fault may crash.
    private func find(_ fault: PlantedFault) -> Bool {
        var body: () -> Bool = { search(for: fault) }
        let status = withUnsafeMutablePointer(to: &body) { pointer in
            il_in_process({ $0!.assumingMemoryBound(to: (() -> Bool).self).pointee() }, pointer)
        }
        if status < 0 { write(fault, fault.scenario, "crash (signal \(-status))") }
        return status <= 0
    }

    /// Returns whether the fault shows in the scenario that is known to find it; or in any, if requested.
    private func search(for fault: PlantedFault) -> Bool {
        if options.generates || fault.isFoundByClass {
            var options = options
            if !options.generates { options.names = [fault.scenario] }
            for bound in [1, 2] {
                if case .reduced = self.options.modes[0] { options.modes = [.bounded(bound)] }
                if let finding = GeneratedSearch(options).finding(fault.number, in: fault.module) {
                    write(fault, "generated", finding)
                    return true
                }
            }
            return false
        }
        for scenario in scenarios where scenario.name == fault.scenario {
            for mode in [SearchOptions.Mode.bounded(1), .bounded(2), .reduced] {
                if finds(fault, scenario, mode) { return true }
            }
        }
        guard options.searchesEverywhere else { return false }
        for scenario in scenarios where scenario.name != fault.scenario {
            if finds(fault, scenario, .bounded(2)) { return true }
        }
        return false
    }

    private func finds(_ fault: PlantedFault, _ scenario: Scenario, _ mode: SearchOptions.Mode) -> Bool {
        il_plant(CInt(fault.number))
        il_set_name(scenario.name)
        let result = Search(scenario: scenario, mode: mode, options: options).run()
        guard let failure = result.failure else { return false }
        if scenario.name != fault.scenario, !isOf(fault, failure, in: scenario) { return false }
        write(fault, scenario.name, failure.text)
        return true
    }

    /// Whether the schedule is one that does not fail without the fault.
    private func isOf(_ fault: PlantedFault, _ failure: Search.Failure, in scenario: Scenario) -> Bool {
        il_plant(0)
        defer { il_plant(CInt(fault.number)) }
        return Search(scenario: scenario, mode: .bounded(1), options: options).run().failure == nil
    }

    /// Prints what finds each.
    private func writeTable(_ faults: [PlantedFault]) -> Bool {
        print("| fault | | found by |\n|---:|---|---|")
        for fault in faults {
            let place =
                fault.isFoundByClass ? "programs of `\(fault.scenario)`" : "the scenario `\(fault.scenario)`"
            print("| \(fault.number) | \(fault.title) | \(place) |")
        }
        return true
    }

    private func write(_ fault: PlantedFault, _ scenario: String, _ text: String) {
        print("\(padded("\(fault.number)", 4)) \(padded(scenario, 34)) \(fault.title): \(text)")
    }
}

extension PlantedFault {
    /// Whether generated programs find it, or histories of an object.
    var isFoundByClass: Bool {
        ProgramClass.all.contains { $0.name == scenario } || ObjectClass.all.contains { $0.name == scenario }
    }
}
