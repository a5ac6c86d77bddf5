/// Makes a failing program smaller for as long as it fails.
extension Program {
    func shrunk(while fails: (Program) -> Bool) -> Program {
        var smallest = self
        var hasShrunk = true
        while hasShrunk {
            hasShrunk = false
            var index = 0
            while let candidate = smallest.simplification(index) {
                if fails(candidate) {
                    smallest = candidate
                    hasShrunk = true
                } else {
                    index += 1
                }
            }
        }
        return smallest
    }

    /// The program without one thing; nil if it has no `index` things.
    private func simplification(_ index: Int) -> Program? {
        var remaining = index
        guard let steps = Program.simplify(steps, &remaining) else { return nil }
        return Program(steps: steps)
    }

    /// Counts `remaining` down over everything that could be simplified, and simplifies where it comes to 0.
    private static func simplify(_ actions: [Action], _ remaining: inout Int) -> [Action]? {
        var actions = actions
        for index in actions.indices {
            if remaining == 0 {
                actions.remove(at: index)
                return actions
            }
            remaining -= 1
            if let simpler = simplify(actions[index], &remaining) {
                actions[index] = simpler
                return actions
            }
        }
        return nil
    }

    private static func simplify(_ action: Action, _ remaining: inout Int) -> Action? {
        switch action {
        case .source(let id, let kind, let canceller?):
            if remaining == 0 { return .source(id: id, kind, nil) }
            remaining -= 1
            return simplify(canceller.actions, &remaining).map {
                .source(id: id, kind, Canceller(actions: $0, fires: canceller.fires))
            }
        case .attach(let id, let target, var callback, let keep):
            if callback.dispatcher != nil {
                if remaining == 0 {
                    callback.dispatcher = nil
                    return .attach(id: id, to: target, callback, keep: keep)
                }
                remaining -= 1
            }
            if let body = simplify(callback.onValue, &remaining) {
                callback.onValue = body
            } else if let body = simplify(callback.onFailure, &remaining) {
                callback.onFailure = body
            } else {
                return nil
            }
            return .attach(id: id, to: target, callback, keep: keep)
        case .list(let id, var inputs, let rule, var options, let keep):
            if options.consumeErrors || options.cancelsRemaining {
                if remaining == 0 {
                    options = ListOptions()
                    return .list(id: id, inputs, rule, options, keep: keep)
                }
                remaining -= 1
            }
            for index in inputs.indices {
                if remaining == 0 {
                    inputs.remove(at: index)
                    return .list(id: id, inputs, rule, options, keep: keep)
                }
                remaining -= 1
            }
            return nil
        default:
            return nil
        }
    }

    private static func simplify(_ body: Body, _ remaining: inout Int) -> Body? {
        var body = body
        if let actions = simplify(body.actions, &remaining) {
            body.actions = actions
            return body
        }
        if case .echo = body.answer { return nil }
        if remaining == 0 {
            body.answer = .echo
            return body
        }
        remaining -= 1
        return nil
    }
}
