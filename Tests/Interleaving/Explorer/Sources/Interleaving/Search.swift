import CInterleaving

/// Searches classes by size, or random programs of them.
struct Search {
    let options: SearchOptions

    /// Searches a class, and returns whether nothing was violated.
    func run(_ searched: SearchedClass) -> Bool {
        let options = options.begun()
        var table = CountTable(searched.name)
        if let seed = options.seed {
            guard let random = searched.random else { return true }
            for number in seed... {
                if options.isLate { break }
                let program = random(number)
                judge(program, &table, program.size, "seed \(number)", options)
            }
            return table.printed(options) == 0
        }
        for size in 1...options.size {
            searched.forEach(size) { one in
                if options.isLate { return false }
                judge(one, &table, size, searched.name, options)
                return true
            }
        }
        return table.printed(options) == 0
    }

    private func judge(
        _ searched: any Searched, _ table: inout CountTable, _ size: Int, _ title: String,
        _ options: SearchOptions
    ) {
        // Printed if it crashes.
        il_set_name("\(title)\n\(searched)")
        let judgement = searched.judged(options)
        table.add(judgement, size)
        guard let violation = judgement.violation, table.violations <= options.shown else { return }
        // Without the time limit.
        let smallest = searched.smallest(self.options)
        print("VIOLATED \(title)\n\(smallest)\n\(smallest.judged(self.options).violation ?? violation)")
        if searched is Scenario { Trace.print(violation.schedule, of: searched) }
    }
}

/// Counts programs and schedules by size.
private struct CountTable {
    struct Count {
        var programs = 0
        var schedules = 0
        var cutOff = 0
        var violations = 0
    }

    private let name: String
    private var counts: [Int: Count] = [:]

    init(_ name: String) { self.name = name }

    var violations: Int { counts.values.reduce(0) { $0 + $1.violations } }

    mutating func add(_ judgement: Judgement, _ size: Int) {
        var count = counts[size] ?? Count()
        count.programs += 1
        count.schedules += judgement.schedules
        if judgement.isCutOff { count.cutOff += 1 }
        if judgement.violation != nil { count.violations += 1 }
        counts[size] = count
    }

    /// Prints the counts and returns the number of violations.
    func printed(_ options: SearchOptions) -> Int {
        for (size, count) in counts.sorted(by: { $0.key < $1.key }) {
            print(
                """
                \(padded(name, 14)) size \(size): \(count.programs) programs, \(count.schedules) schedules, \
                \(count.cutOff) cut off, \(count.violations) violations
                """)
        }
        if options.isLate { print("\(padded(name, 14)) ended by the time limit of \(options.seconds) s") }
        return violations
    }
}
