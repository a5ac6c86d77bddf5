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
        if options.searchesEverywhere { return writeFindings(faults) }
        let missed = faults.filter { !isFound($0, by: $0.scenario) }
        print("\(faults.count - missed.count) of \(faults.count) planted faults found")
        for fault in missed { print("not found: \(fault.number), \(fault.title)") }
        return missed.isEmpty
    }

    /// Searches in a process of its own, which the fault may crash.
    private func isFound(_ fault: PlantedFault, by name: String) -> Bool {
        var body: () -> Bool = {
            guard let finding = finding(fault, by: name) else { return false }
            write(fault, name, finding)
            return true
        }
        let status = withUnsafeMutablePointer(to: &body) { pointer in
            il_in_process({ $0!.assumingMemoryBound(to: (() -> Bool).self).pointee() }, pointer)
        }
        if status < 0 { write(fault, name, "crash (signal \(-status))") }
        return status <= 0
    }

    /// Returns what a scenario, or programs of a class, show of the fault; nil if they show nothing.
    private func finding(_ fault: PlantedFault, by name: String) -> String? {
        var options = options
        options.names = [name]
        for mode in [SearchOptions.Mode.bounded(1), .bounded(2), .reduced] {
            if let scenario = scenarios.first(where: { $0.name == name }) {
                il_plant(CInt(fault.number))
                il_set_name(name)
                let result = Search(scenario: scenario, mode: mode, options: options).run()
                if let failure = result.failure { return failure.text }
            } else if case .bounded = mode {
                options.modes = [mode]
                if let finding = GeneratedSearch(options).finding(fault.number, in: fault.module) {
                    return finding
                }
            }
        }
        return nil
    }

    /// Prints all scenarios that find each fault, or all classes of generated programs.
    private func writeFindings(_ faults: [PlantedFault]) -> Bool {
        var names = options.chosen(from: scenarios).map(\.name)
        if options.generates {
            names = (ProgramClass.all.map(\.name) + ObjectClass.all.map(\.name)).filter {
                options.names.isEmpty || options.names.contains($0)
            }
        }
        for fault in faults {
            let found = names.filter { isFound(fault, by: $0) }
            print("| \(fault.number) | \(fault.scenario) | \(found.joined(separator: ", ")) |")
        }
        return true
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
        if options.searchesEverywhere { return }
        print("\(padded("\(fault.number)", 4)) \(padded(scenario, 34)) \(fault.title): \(text)")
    }
}

extension PlantedFault {
    /// Whether generated programs find it, or histories of an object.
    var isFoundByClass: Bool {
        ProgramClass.all.contains { $0.name == scenario } || ObjectClass.all.contains { $0.name == scenario }
    }
}
