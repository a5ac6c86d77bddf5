/// Simplifies a failing program as long as it still fails.
extension ModelProgram {
    func shrunk(while fails: (ModelProgram) -> Bool) -> ModelProgram {
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

    /// Returns the program without one part; nil if it has no part with that index.
    private func simplification(_ index: Int) -> ModelProgram? {
        var remaining = index
        guard let steps = ModelProgram.simplify(steps, &remaining) else { return nil }
        return ModelProgram(steps: steps)
    }

    /// Decreases `remaining` for each part that could be simplified, and simplifies the one at which it
    /// reaches 0.
    private static func simplify(_ actions: [ModelAction], _ remaining: inout Int) -> [ModelAction]? {
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

    private static func simplify(_ action: ModelAction, _ remaining: inout Int) -> ModelAction? {
        switch action {
        case .source(let id, let kind, let canceller?):
            if remaining == 0 { return .source(id: id, kind, nil) }
            remaining -= 1
            return simplify(canceller.actions, &remaining).map {
                .source(
                    id: id, kind, Canceller(actions: $0, fires: canceller.fires, keeps: canceller.keeps))
            }
        case .finally(let id, let target, let actions):
            return simplify(actions, &remaining).map { .finally(id: id, target, $0) }
        case .tower(let id, let depth, let actions):
            if depth > 1 {
                if remaining == 0 { return .tower(id: id, depth: depth - 1, actions) }
                remaining -= 1
            }
            return simplify(actions, &remaining).map { .tower(id: id, depth: depth, $0) }
        case .attach(let id, let target, var callback, let keep):
            if callback.dispatcher != nil {
                if remaining == 0 {
                    callback.dispatcher = nil
                    return .attach(id: id, to: target, callback, keep: keep)
                }
                remaining -= 1
            }
            if let actions = simplify(callback.atEnd, &remaining) {
                callback.atEnd = actions
                return .attach(id: id, to: target, callback, keep: keep)
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

    private static func simplify(_ body: ScriptedBody, _ remaining: inout Int) -> ScriptedBody? {
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
