import CInterleaving

/// The schedules of one program, and what the model says of their outcomes.
struct Judgement {
    var schedules = 0
    var isCutOff = false
    var isUndetermined = false
    var violation: Violation?

    struct Violation: CustomStringConvertible {
        let observation: Observation
        let schedule: String
        let preemptions: Int
        let permitted: [Observation]

        var description: String {
            """
            seen, with \(preemptions) preemptions, schedule \(schedule):
            \(observation)
            permitted:
            \(permitted.map(\.description).joined(separator: "\n--\n"))
            """
        }
    }

    /// Each outcome seen, with the orders in which the operations took place, and the first schedule of each.
    private var seen: [Observation: [RealTimeOrder: (schedule: String, preemptions: Int)]] = [:]

    /// Returns whether the contract does not permit what a schedule of the program does.
    static func isViolated(_ program: ThreadedProgram, _ options: SearchOptions) -> Bool {
        of(program, options).violation != nil
    }

    static func of(_ program: ThreadedProgram, _ options: SearchOptions) -> Judgement {
        var judgement = Judgement()
        judgement.explore(program, options)
        judgement.judge(program, options)
        return judgement
    }

    private mutating func explore(_ program: ThreadedProgram, _ options: SearchOptions) {
        (schedules, isCutOff) = options.forEachSchedule {
            let (observation, order, isRedundant) = Observation.ofEngine(program)
            if !isRedundant, seen[observation]?[order] == nil {
                seen[observation, default: [:]][order] = (
                    String(cString: il_schedule()), Int(il_preemptions())
                )
            }
            return isRedundant
        }
    }

    /// Runs the model until it has had each outcome that was seen, with the operations in the same order, or has no
    /// other. Of random programs, which are large, only the outcomes are compared: some of what the library does in
    /// several steps is one step of the model.
    private mutating func judge(_ program: ThreadedProgram, _ options: SearchOptions) {
        var permitted: Set<Observation> = []
        var missing = seen
        var runs = 0
        let comparesOrder = if case .random = options.modes[options.modes.count - 1] { false } else { true }
        for bound in [1, 2, 4, 100] where !missing.isEmpty {
            var config = il_config()
            config.mode = IL_BOUNDED
            config.bound = CInt(bound)
            il_begin(&config)
            while !missing.isEmpty, il_next() {
                let (observation, order, undetermined) = Observation.ofModel(program)
                if undetermined != nil {
                    isUndetermined = true
                    return
                }
                permitted.insert(observation)
                if let orders = missing[observation] {
                    let rest = orders.filter { comparesOrder && !$0.key.isContained(in: order) }
                    missing[observation] = rest.isEmpty ? nil : rest
                }
                runs += 1
                if runs > 100_000 { break }
            }
        }
        let outcomes = missing.flatMap { observation, orders in orders.values.map { (observation, $0) } }
        guard let first = outcomes.min(by: { $0.1.preemptions < $1.1.preemptions }) else { return }
        violation = Violation(
            observation: first.0, schedule: first.1.schedule, preemptions: first.1.preemptions,
            permitted: permitted.sorted { $0.description < $1.description })
    }
}

extension SearchOptions {
    /// Calls `run` for each schedule, at most 2,000 or as many as the limit says. It returns whether its schedule was
    /// redundant.
    func forEachSchedule(_ run: () -> Bool) -> (count: Int, isCutOff: Bool) {
        var config = il_config()
        if case .bounded(let bound) = modes[0] {
            config.mode = IL_BOUNDED
            config.bound = CInt(bound)
        } else {
            config.mode = IL_REDUCED
        }
        il_begin(&config)
        var count = 0
        while il_next() {
            if run() { continue }
            count += 1
            if count >= min(limit, 2000) { return (count, true) }
        }
        return (count, false)
    }
}
