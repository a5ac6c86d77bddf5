import CInterleaving
import Instrumenting

/// Searches for each planted fault with what finds it: a search that finds nothing may be one that can find nothing.
struct FaultSearch {
    let options: SearchOptions
    let classes: [SearchedClass]

    /// Searches for a fault with the class or the scenario that is named for it, and returns whether it was found.
    func run(_ fault: PlantedFault) -> Bool {
        guard case .search(let name, _, _, _) = fault.finder else { return true }
        let isFound = isFound(fault, by: name)
        if !isFound { print("NOT FOUND: \(fault.number), \(fault.title), by \(name)") }
        return isFound
    }

    /// Prints the names of all that find a fault.
    func runEverywhere(_ fault: PlantedFault, _ chosen: [SearchedClass]) {
        let found = chosen.map(\.name).filter { isFound(fault, by: $0) }
        print("| \(fault.number) | \(fault.title) | \(found.joined(separator: ", ")) |")
    }

    /// Searches in a process of its own, which the fault may crash.
    private func isFound(_ fault: PlantedFault, by name: String) -> Bool {
        let start = SearchOptions.processorSeconds()
        var body: () -> Bool = {
            guard let finding = finding(fault, by: name) else { return false }
            let seconds = Int(SearchOptions.processorSeconds() - start)
            write(fault, name, finding + (seconds > 0 ? " (\(seconds) s)" : ""))
            return true
        }
        let status = withUnsafeMutablePointer(to: &body) { pointer in
            il_in_process({ $0!.assumingMemoryBound(to: (() -> Bool).self).pointee() }, pointer)
        }
        if status < 0 { write(fault, name, ", a crash (signal \(-status))") }
        return status <= 0
    }

    /// Returns the first program that is violated only with the fault, small ones first; nil if there is none. Begins with
    /// the one that is known to be.
    private func finding(_ fault: PlantedFault, by name: String) -> String? {
        guard let searched = classes.first(where: { $0.name == name }) else { return nil }
        il_set_name(name)
        if options.usesHints, case .search(name, let size, let place, let mode) = fault.finder {
            let known = Mode(rawValue: mode) ?? .one
            if let hint = finding(fault, in: searched, size, known, options.begun(), only: place) {
                return hint
            }
        }
        for mode in [Mode.one, .two, .reduced] {
            let options = options.begun()
            for size in 1...options.size {
                if let finding = finding(fault, in: searched, size, mode, options) { return finding }
            }
        }
        return nil
    }

    private enum Mode: String {
        case one = "1"
        case two = "2"
        case reduced

        var schedules: SearchOptions.Mode {
            switch self {
            case .one: .bounded(1)
            case .two: .bounded(2)
            case .reduced: .reduced
            }
        }
    }

    private func finding(
        _ fault: PlantedFault, in searched: SearchedClass, _ size: Int, _ mode: Mode,
        _ options: SearchOptions, only: Int? = nil
    ) -> String? {
        var options = options
        options.mode = mode.schedules
        var finding: String?
        var place = 0
        searched.forEach(size) { one in
            place += 1
            if only ?? place == place, isViolated(one, by: fault.number, options) {
                let hint = only == nil && !searched.isScenario ? " size \(size) place \(place)" : ""
                finding = hint + (only == nil && mode != .one ? " bound \(mode.rawValue)" : "")
                if !searched.isScenario, only == nil { finding! += "\n\(one)" }
            }
            return finding == nil && !options.isLate && only ?? .max > place
        }
        return finding
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
        print("\(padded("\(fault.number)", 4)) \(fault.title): found by \(name)\(text)")
    }
}
