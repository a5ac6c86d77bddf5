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

    /// Prints all that contradicts a fault in the class that is named for it, from the program that is known to show it on,
    /// until the time limit: a line for each, with the fault's number.
    func runReasons(_ fault: PlantedFault) {
        guard case .search(let name, let size, let place, let mode) = fault.finder,
            let searched = classes.first(where: { $0.name == name }), !searched.isScenario
        else { return }
        var options = options.begun()
        options.mode = (Mode(rawValue: mode) ?? .one).schedules
        options.collectsReasons = true
        var reasons: Set<String> = []
        _ = inProcess {
            il_plant(CInt(fault.number))
            var number = 0
            searched.forEach(size) { one in
                number += 1
                if number < place { return true }
                for reason in one.judged(options).reasons where reasons.insert(reason).inserted {
                    print("\(reason)\t\(fault.number)")
                    il_flush()
                }
                return !options.isLate
            }
            return true
        }
    }

    private func isFound(_ fault: PlantedFault, by name: String) -> Bool {
        let start = SearchOptions.processorSeconds()
        let status = inProcess {
            guard let finding = finding(fault, by: name) else { return false }
            let seconds = Int(SearchOptions.processorSeconds() - start)
            write(fault, name, finding + (seconds > 0 ? " (\(seconds) s)" : ""))
            return true
        }
        if status < 0 { write(fault, name, ", a crash (signal \(-status))") }
        return status <= 0
    }

    /// Searches in a process of its own, which the fault may crash.
    private func inProcess(_ body: () -> Bool) -> Int32 {
        withoutActuallyEscaping(body) { body in
            var body = body
            return withUnsafeMutablePointer(to: &body) { pointer in
                il_in_process({ $0!.assumingMemoryBound(to: (() -> Bool).self).pointee() }, pointer)
            }
        }
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
