import CInterleaving

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
        for programs in ProgramClass.all where options.names.isEmpty || options.names.contains(programs.name) {
            violations += search(programs)
        }
        return violations == 0
    }

    private func warmUp() {
        // Objects that are created once, such as static properties, are created now.
        let warmUp = ThreadedProgram(
            setup: [.source(id: 1, .plain, nil)],
            threads: (2...3).map { [.fire(id: $0, 1, through: .handle, .failure(.test(1))), .drop(1)] })
        for _ in 0..<3 { _ = Judgement.of(warmUp, options) }
    }

    /// Searches for a planted fault: returns the first program, small ones first, that fails only with it.
    func program(revealing fault: Int) -> (ThreadedProgram, ProgramClass)? {
        il_plant(0)
        warmUp()
        let clock = ContinuousClock()
        let start = clock.now
        for size in 2...options.size {
            for programs in ProgramClass.all where options.names.isEmpty || options.names.contains(programs.name) {
                let begin = clock.now
                for program in programs.programs(ofSize: size) {
                    il_plant(CInt(fault))
                    let isViolated = Judgement.of(program, options).violation != nil
                    il_plant(0)
                    if isViolated, Judgement.of(program, options).violation == nil { return (program, programs) }
                    if (clock.now - begin) / .seconds(1) > options.seconds / 10 { break }
                }
            }
            if (clock.now - start) / .seconds(1) > options.seconds { return nil }
        }
        return nil
    }

    private func search(_ programs: ProgramClass) -> Int {
        let clock = ContinuousClock()
        let start = clock.now
        var counts: [Int: Count] = [:]
        var isCutOff = false
        var shown = 0
        for size in 1...options.size where !isCutOff {
            for program in programs.programs(ofSize: size) {
                if options.listsScenarios {
                    print("\(program)\n")
                    continue
                }
                var count = counts[size, default: Count()]
                let verdict = Judgement.of(program, options)
                count.programs += 1
                count.schedules += verdict.schedules
                if verdict.isCutOff { count.cutOff += 1 }
                if verdict.isUndetermined { count.undetermined += 1 }
                if let violation = verdict.violation {
                    count.violations += 1
                    shown += 1
                    if shown <= options.shown { print("VIOLATED\n\(program)\n\(violation)") }
                }
                counts[size] = count
                isCutOff = (clock.now - start) / .seconds(1) > options.seconds
                if isCutOff { break }
            }
        }
        if isCutOff { print("\(programs.name): cut off") }
        for (size, count) in counts.sorted(by: { $0.key < $1.key }) {
            print(
                """
                \(padded(programs.name, 20)) size \(size): \(count.programs) programs, \(count.schedules) schedules, \
                \(count.cutOff) cut off, \(count.undetermined) undetermined, \(count.violations) violations
                """)
        }
        return counts.values.reduce(0) { $0 + $1.violations }
    }
}
