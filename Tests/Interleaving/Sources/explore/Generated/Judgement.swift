import CInterleaving
import Interleaving

extension ModelProgram: Searched {
    func judged(_ options: SearchOptions) -> Judgement {
        var judge = ProgramJudge(program: self)
        return judge.judged(options)
    }

    func runOnce() { _ = Observation.ofEngine(self) }

    func smallest(_ options: SearchOptions) -> any Searched {
        shrunk { $0.judged(options).violation != nil }
    }
}

/// Compares what the schedules of a program do with what the model does.
private struct ProgramJudge {
    let program: ModelProgram
    /// Each outcome seen that is yet to be judged, with the orders in which the operations took place, and the first
    /// schedule of each.
    private var seen: [Observation: [RealTimeOrder: Judgement.Violation]] = [:]
    /// What runs of the model have done.
    private var permitted: Set<Observation> = []
    private var isUndetermined = false

    init(program: ModelProgram) { self.program = program }

    /// Runs the schedules, and then the model until it has had each outcome that was seen, with the operations in the
    /// same order, or has no other: first in any schedules, and then with those that may lead to one outcome.
    mutating func judged(_ options: SearchOptions) -> Judgement {
        var judgement = Judgement(options, limit: 2_000) {
            let (observation, order, status) = Observation.ofEngine(program)
            if status != IL_REDUNDANT, seen[observation]?[order] == nil {
                seen[observation, default: [:]][order] = Judgement.Violation(text: "")
            }
            // What is wrong in any run the model need not judge.
            return (status, observation.fault.isEmpty ? nil : "\(observation)")
        }
        if judgement.violation != nil { return judgement }
        _ = runModel(1, atMost: 3_000)
        while !isUndetermined, let observation = seen.keys.first {
            var isComplete = false
            for bound in [1, 2, 4, 100] where seen[observation] != nil {
                isComplete = runModel(bound, towards: observation, atMost: 100_000)
            }
            guard let schedules = seen.removeValue(forKey: observation), !isUndetermined else {
                continue
            }
            if isComplete {
                let first = schedules.min { $0.value.preemptions < $1.value.preemptions }
                judgement.violation = first?.value
                judgement.violation?.text = text(observation, first?.key ?? RealTimeOrder())
                return judgement
            }
            // With too many schedules of the model to try them all, the order of the operations decides nothing.
            if !permitted.contains(observation) { judgement.isCutOff = true }
        }
        judgement.isUndetermined = isUndetermined
        return judgement
    }

    /// An outcome that is permitted may be so in another order of the operations only.
    private func text(_ observation: Observation, _ order: RealTimeOrder) -> String {
        let isOfOrder = permitted.contains(observation)
        let permitted = permitted.map(\.description).sorted().joined(separator: "\n--\n")
        let seen = "seen, with \(order):\n\(observation)\n"
        return seen + (isOfOrder ? "permitted, but not that in this order:\n" : "permitted:\n") + permitted
    }

    /// Runs the model with so many preemptions, and removes from `seen` what it permits. Returns whether there are no
    /// other schedules.
    private mutating func runModel(
        _ bound: Int, towards aim: Observation? = nil, atMost limit: Int
    ) -> Bool {
        let orders = aim.flatMap { seen[$0] }.map { Array($0.keys) } ?? []
        SearchOptions.Mode.bounded(bound).begin()
        var runs = 0
        while !seen.isEmpty, aim.map({ seen[$0] != nil }) ?? true, il_next() {
            if runs == limit { return false }
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
        }
        return true
    }
}
