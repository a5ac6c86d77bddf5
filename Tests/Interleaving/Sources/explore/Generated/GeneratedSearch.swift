import CInterleaving

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// Searches generated programs: each schedule's outcome has to be one that the model permits.
struct GeneratedSearch {
    struct Count {
        var programs = 0
        var schedules = 0
        var cutOff = 0
        var undetermined = 0
        var violations = 0
    }

    private let options: SearchOptions

    init(_ options: SearchOptions) { self.options = options }

    /// Returns whether nothing was violated.
    func run() -> Bool {
        var violations = 0
        warmUp()
        for programs in ProgramClass.all where isChosen(programs.name) { violations += search(programs) }
        for object in ObjectClass.all where isChosen(object.name) { violations += search(object) }
        return violations == 0
    }

    private func warmUp() {
        // Objects that are created once, such as static properties, are created now.
        let warmUp = ModelProgram(
            steps: [.source(id: 1, .plain, nil)],
            threads: (2...3).map { [.fire(id: $0, 1, through: .handle, .failure(.test(1))), .drop(1)] })
        for _ in 0..<3 { _ = Judgement.of(warmUp, options) }
    }

    /// Searches for a planted fault: returns the first program or history, small ones first, that fails only with it.
    func finding(_ fault: Int, in module: String) -> String? {
        il_plant(0)
        warmUp()
        func reveals(_ isViolated: () -> Bool) -> Bool {
            il_plant(CInt(fault))
            defer { il_plant(0) }
            guard isViolated() else { return false }
            il_plant(0)
            return !isViolated()
        }
        for size in 2...options.size {
            for object in ObjectClass.all where isChosen(object.name) {
                let table = CountTable(object.name, options)
                for history in object.histories(ofSize: size) where !table.isLate {
                    if reveals({ history.judged(options).violation != nil }) {
                        return "\(object.name), size \(size)\n\(history)"
                    }
                }
            }
            for programs in ProgramClass.all where isChosen(programs.name) && module == "Deferred" {
                let table = CountTable(programs.name, options)
                var finding: String?
                programs.forEachProgram(ofSize: size) { program in
                    if reveals({ Judgement.isViolated(program, options) }) {
                        finding = "\(programs.name), size \(size)\n\(program)"
                    }
                    return finding == nil && !table.isLate
                }
                if let finding { return finding }
            }
        }
        return nil
    }

    private func isChosen(_ name: String) -> Bool { options.names.isEmpty || options.names.contains(name) }

    /// Searches by size, and then random programs if a seed is given.
    private func search(_ programs: ProgramClass) -> Int {
        let table = CountTable(programs.name, options)
        if case .random(let seed) = options.modes[options.modes.count - 1], !programs.links.isEmpty {
            for number in seed... {
                if table.isLate { return table.printed() }
                if Int(number % UInt64(options.part.count)) != options.part.index { continue }
                let program = programs.randomProgram(seed: number)
                judge(program, table, program.size, "seed \(number)")
            }
        }
        for size in 1...options.size where !table.isLate {
            var index = 0
            programs.forEachProgram(ofSize: size) { program in
                defer { index += 1 }
                if index % options.part.count != options.part.index { return true }
                if table.isLate { return false }
                judge(program, table, size, programs.name)
                return true
            }
        }
        return table.printed()
    }

    private func judge(_ program: ModelProgram, _ table: CountTable, _ size: Int, _ title: String) {
        if options.listsScenarios { return print("\(program)\n") }
        let judgement = Judgement.of(program, options)
        guard let violation = judgement.violation else { return table.add(judgement, size) }
        if table.add(violationOf: judgement, size) {
            let smallest = program.shrunk { Judgement.isViolated($0, options) }
            let shown = Judgement.of(smallest, options).violation ?? violation
            print("VIOLATED \(title)\n\(smallest)\n\(shown)\n\(smallest.code)")
        }
    }

    /// Searches the histories of an object by the number of their calls.
    private func search(_ object: ObjectClass) -> Int {
        let table = CountTable(object.name, options)
        for size in 2...options.size {
            for (index, history) in object.histories(ofSize: size).enumerated() {
                if index % options.part.count != options.part.index { continue }
                if table.isLate { return table.printed() }
                let (judgement, violation) = history.judged(options)
                if violation == nil {
                    table.add(judgement, size)
                } else if table.add(violationOf: judgement, size), let violation {
                    print("VIOLATED \(object.name)\n\(history)\n\(violation)")
                }
            }
        }
        return table.printed()
    }
}

/// Counts programs and schedules by size, and watches the time limit of a class.
final class CountTable {
    private let name: String
    private let options: SearchOptions
    private let start = CountTable.processorSeconds()
    private var counts: [Int: GeneratedSearch.Count] = [:]
    private var shown = 0
    private var wasLate = false

    init(_ name: String, _ options: SearchOptions) {
        self.name = name
        self.options = options
    }

    var isLate: Bool {
        if Self.processorSeconds() - start > options.seconds { wasLate = true }
        return wasLate
    }

    /// The time that this process has used: as much is searched on a machine that does other work meanwhile.
    private static func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    func add(_ judgement: Judgement, _ size: Int) {
        counts[size, default: .init()].programs += 1
        counts[size]!.schedules += judgement.schedules
        if judgement.isCutOff { counts[size]!.cutOff += 1 }
        if judgement.isUndetermined { counts[size]!.undetermined += 1 }
    }

    /// Returns whether the violation is to be printed.
    func add(violationOf judgement: Judgement, _ size: Int) -> Bool {
        add(judgement, size)
        counts[size]!.violations += 1
        shown += 1
        return shown <= options.shown
    }

    /// Prints the counts and returns the number of violations.
    func printed() -> Int {
        for (size, count) in counts.sorted(by: { $0.key < $1.key }) {
            print(
                """
                \(padded(name, 14)) size \(size): \(count.programs) programs, \(count.schedules) schedules, \
                \(count.cutOff) cut off, \(count.undetermined) undetermined, \(count.violations) violations
                """)
        }
        if wasLate { print("\(padded(name, 14)) ended by the time limit of \(options.seconds) s") }
        return counts.values.reduce(0) { $0 + $1.violations }
    }
}
