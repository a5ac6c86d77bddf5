/// Runs a program on the library and on the model, and describes the first difference in what a user sees.
struct OrderComparison {
    private(set) var difference: String?
    /// Why the comparison ended before the program did.
    let leftOpen: String?
    private(set) var eventCount = 0
    private let model: OrderModel

    init(_ program: UserProgram) {
        let (expected, model) = OrderModel.events(of: program)
        (self.model, leftOpen) = (model, model.leftOpen)
        let seen = Self.steps(of: Run.run(program).log)
        for (step, (expected, seen)) in zip(expected, seen).enumerated() where difference == nil {
            eventCount += expected.count
            if areEqual(expected, seen) { continue }
            difference = """
                step \(step): expected \(expected.map { "\($0)" }.joined(separator: ", "))
                step \(step): seen     \(seen.map { "\($0)" }.joined(separator: ", "))
                """
        }
    }

    /// What the model has, of each step of the program.
    private static func steps(of log: RunLog) -> [[RunLog.Event]] {
        var steps: [[RunLog.Event]] = [[]]
        for event in log.events {
            switch event {
            case .began, .ended, .finalizerRan, .completed, .looked: steps[steps.count - 1].append(event)
            case .quiet: steps.append([])
            case .closing: return steps.dropLast()
            default: break
            }
        }
        return steps
    }

    /// Finalizers that run one after the other may do so in any order that Z2 allows.
    private func areEqual(_ expected: [RunLog.Event], _ seen: [RunLog.Event]) -> Bool {
        if expected == seen { return true }
        guard expected.count == seen.count else { return false }
        var start = 0
        while start < expected.count {
            let group = expected[start...].prefix { $0.finalizer != nil }
            if group.isEmpty {
                guard expected[start] == seen[start] else { return false }
                start += 1
                continue
            }
            guard isAllowed(Array(seen[group.indices]), Array(group)) else { return false }
            start = group.endIndex
        }
        return true
    }

    private func isAllowed(_ seen: [RunLog.Event], _ expected: [RunLog.Event]) -> Bool {
        let places = expected.compactMap { seen.firstIndex(of: $0) }
        guard Set(places).count == seen.count else { return false }
        return expected.indices.allSatisfy { later in
            (0..<later).allSatisfy { places[$0] < places[later] || !isOrdered(expected[$0], expected[later]) }
        }
    }

    private func isOrdered(_ first: RunLog.Event, _ second: RunLog.Event) -> Bool {
        guard let a = model.endingOf[first.finalizer!], let b = model.endingOf[second.finalizer!] else {
            return true
        }
        return a === b || a.isBelow(b)
    }
}

extension RunLog.Event {
    fileprivate var finalizer: Int? { if case .finalizerRan(let id, _) = self { id } else { nil } }
}
