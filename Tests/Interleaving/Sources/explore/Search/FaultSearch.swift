import CInterleaving
import PlantedFaults

/// Searches for each planted fault with what finds it: a search that finds nothing may be one that can find nothing.
struct FaultSearch {
    private let options: SearchOptions

    init(_ options: SearchOptions) { self.options = options }

    /// Returns whether each was found.
    func run() -> Bool {
        Search.warmUp()
        let faults = PlantedFault.all.filter { fault in
            options.plantedFault.map { $0 == fault.number } ?? true
        }.enumerated().filter { $0.offset % options.part.count == options.part.index }.map(\.element)
        if options.searchesEverywhere {
            for fault in faults {
                let found = options.chosen().map(\.name).filter { isFound(fault, by: $0) }
                print("| \(fault.number) | \(fault.scenario) | \(found.joined(separator: ", ")) |")
            }
            return true
        }
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

    /// Returns the first program that is violated only with the fault, small ones first; nil if there is none.
    private func finding(_ fault: PlantedFault, by name: String) -> String? {
        guard let searched = SearchedClass.all().first(where: { $0.name == name }) else { return nil }
        il_set_name(name)
        for mode in [SearchOptions.Mode.bounded(1), .bounded(2), .reduced] {
            var options = options.begun()
            options.mode = mode
            var finding: String?
            for size in 1...options.size where finding == nil {
                searched.forEach(size) { one in
                    if isViolated(one, by: fault.number, options) {
                        finding = "size \(size)\n\(one)"
                    }
                    return finding == nil && !options.isLate
                }
            }
            if let finding { return finding }
        }
        return nil
    }

    private func isViolated(_ one: any Searched, by fault: Int, _ options: SearchOptions) -> Bool {
        il_plant(CInt(fault))
        defer { il_plant(0) }
        guard one.judged(options).violation != nil else { return false }
        il_plant(0)
        return one.judged(options).violation == nil
    }

    private func write(_ fault: PlantedFault, _ name: String, _ text: String) {
        if options.searchesEverywhere { return }
        print("\(padded("\(fault.number)", 4)) \(padded(name, 34)) \(fault.title): \(text)")
    }
}
