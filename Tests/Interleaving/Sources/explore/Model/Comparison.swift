/// Runs a program on the engine and on the model, and describes the first difference.
struct Comparison {
    /// A wildcard location, used where the rules do not determine which one is reported.
    static let anySite = -1

    /// A description of the difference; nil if there is none.
    private(set) var difference: String?
    /// Why the comparison ended before the program did.
    private(set) var undetermined: String?
    private(set) var eventCount = 0

    private let model = Model()

    init(_ program: ModelProgram) {
        let expected = Interpreter(model)
        expected.run(program, isUndetermined: { [model] in model.undetermined != nil })
        undetermined = model.undetermined

        let engine = EngineMachine()
        let seen = Interpreter(engine)
        if undetermined != nil {
            // The rest of the program is not compared, so only the steps before count.
            let steps = expected.comparableSteps
            seen.run(program, upTo: steps)
            compare(expected.trace, seen.trace, steps)
        } else {
            seen.run(program)
            compare(expected.trace, seen.trace, max(expected.trace.count, seen.trace.count))
            for node in model.nodes where node.outcome == nil && node.isSource {
                difference = difference ?? "the model left the source \(node.made) pending"
            }
        }
        if engine.liveClosures != 0 {
            difference =
                difference
                ?? "\(engine.liveClosures) closures are still retained when all handles have been released (A2)"
        }
    }

    private mutating func compare(_ expected: [StepTrace], _ seen: [StepTrace], _ count: Int) {
        for index in 0..<count where difference == nil {
            guard index < expected.count, index < seen.count else {
                difference = "the model took \(expected.count) steps, the engine \(seen.count)"
                return
            }
            eventCount += expected[index].events.count
            if !areEqual(expected[index].events, seen[index].events) {
                difference = """
                    step \(index): expected \(list(expected[index].events))
                    step \(index): seen     \(list(seen[index].events))
                    """
            } else if !areEqual(expected[index].reports, seen[index].reports) {
                difference = """
                    reports of step \(index): expected \(list(expected[index].reports))
                    reports of step \(index): seen     \(list(seen[index].reports))
                    """
            }
        }
    }

    private func list(_ items: [some Any]) -> String {
        items.isEmpty ? "nothing" : items.map { "\($0)" }.joined(separator: ", ")
    }

    // MARK: Events

    /// Compares events in order; finalizers that run together may be in any order that Z2 allows.
    private func areEqual(_ expected: [ModelEvent], _ seen: [ModelEvent]) -> Bool {
        if expected == seen { return true }
        guard expected.count == seen.count else { return false }
        var start = 0
        while start < expected.count {
            var end = start
            while end < expected.count, expected[end].finalizer != nil { end += 1 }
            if end == start {
                guard expected[start] == seen[start] else { return false }
                start += 1
                continue
            }
            guard isAllowed(expected[start..<end], Array(seen[start..<end])) else { return false }
            start = end
        }
        return true
    }

    private func isAllowed(_ expected: ArraySlice<ModelEvent>, _ seen: [ModelEvent]) -> Bool {
        var places: [Int] = []
        for event in expected {
            guard let place = seen.firstIndex(of: event), let id = event.finalizer else { return false }
            for (earlier, otherPlace) in zip(expected, places) where otherPlace > place {
                if let other = earlier.finalizer, model.isOrdered(other, id) { return false }
            }
            places.append(place)
        }
        return Set(places).count == seen.count
    }

    // MARK: Reports

    /// Compares reports in any order; optional ones may be missing.
    private func areEqual(_ expected: [ModelReport], _ seen: [ModelReport]) -> Bool {
        var missing = expected
        for report in seen {
            if let index = missing.firstIndex(where: { $0.allows(report) }) {
                missing.remove(at: index)
            } else if !model.optionalReports.contains(report) {
                return false
            }
        }
        return missing.isEmpty
    }
}

extension ModelEvent {
    fileprivate var finalizer: Int? {
        if case .finalizer(let id, _) = self { id } else { nil }
    }
}

extension ModelReport {
    fileprivate func allows(_ report: ModelReport) -> Bool {
        if case .alreadySettled(let made, Comparison.anySite?, let again) = self,
            case .alreadySettled(let otherMade, _, let otherAgain) = report
        {
            return made == otherMade && again == otherAgain
        }
        return self == report
    }
}
