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
        /// Whether the model has been searched to the end.
        let isCertain: Bool

        var description: String {
            """
            \(isCertain ? "" : "(the model was not searched to the end) ")seen, with \(preemptions) preemptions, schedule \(schedule):
            \(observation)
            permitted:
            \(permitted.map(\.description).joined(separator: "\n--\n"))
            """
        }
    }

    /// A schedule, with its preemptions.
    private typealias Schedule = (text: String, preemptions: Int)

    /// Each outcome seen that is yet to be judged, with the orders in which the operations took place, and the first
    /// schedule of each.
    private var seen: [Observation: [RealTimeOrder: Schedule]] = [:]
    /// What runs of the model have done.
    private var permitted: Set<Observation> = []

    /// Returns whether the contract does not permit what a schedule of the program does.
    static func isViolated(_ program: ModelProgram, _ options: SearchOptions) -> Bool {
        of(program, options).violation != nil
    }

    static func of(_ program: ModelProgram, _ options: SearchOptions) -> Judgement {
        var judgement = Judgement()
        judgement.explore(program, options)
        judgement.judge(program)
        return judgement
    }

    private mutating func explore(_ program: ModelProgram, _ options: SearchOptions) {
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
    /// other: first in any schedules, and then with those that may lead to one outcome.
    private mutating func judge(_ program: ModelProgram) {
        _ = runModel(program, 1, atMost: 3_000)
        while !isUndetermined, let observation = seen.keys.first {
            var isComplete = false
            for bound in [1, 2, 4, 100] where seen[observation] != nil {
                isComplete = runModel(program, bound, towards: observation, atMost: 50_000)
            }
            guard let schedule = seen[observation]?.values.min(by: { $0.preemptions < $1.preemptions }) else {
                continue
            }
            // With too many schedules to try them all, the order of the operations decides nothing.
            if !isComplete, permitted.contains(observation) {
                (isCutOff, seen[observation]) = (true, nil)
                continue
            }
            violation = Violation(
                observation: observation, schedule: schedule.text, preemptions: schedule.preemptions,
                permitted: permitted.sorted { $0.description < $1.description }, isCertain: isComplete)
            return
        }
    }

    /// Runs the model with so many preemptions, and removes from `seen` what it permits. Returns whether there are no
    /// other schedules.
    private mutating func runModel(
        _ program: ModelProgram, _ bound: Int, towards aim: Observation? = nil, atMost limit: Int
    ) -> Bool {
        let orders = aim.flatMap { seen[$0] }.map { Array($0.keys) } ?? []
        var config = il_config()
        config.mode = IL_BOUNDED
        config.bound = CInt(bound)
        il_begin(&config)
        var runs = 0
        while !seen.isEmpty, aim.map({ seen[$0] != nil }) ?? true, il_next() {
            let guide = aim.map { Guide(to: $0, in: orders) }
            let (observation, order, undetermined) = Observation.ofModel(program, guide)
            if undetermined != nil {
                isUndetermined = true
                return true
            }
            permitted.insert(observation)
            if let orders = seen[observation] {
                let rest = orders.filter { !$0.key.isContained(in: order) }
                seen[observation] = rest.isEmpty ? nil : rest
            }
            runs += 1
            if runs == limit { return false }
        }
        return true
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
