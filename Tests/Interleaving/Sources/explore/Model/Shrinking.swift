extension ModelProgram {
    /// Returns a program that has no simpler one which fails, too.
    func shrunk(while fails: (ModelProgram) -> Bool) -> ModelProgram {
        var smallest = self
        while let next = smallest.simpler.first(where: fails) { smallest = next }
        return smallest
    }

    /// The programs without one part of this one. (An action on a handle that is missing does nothing.)
    private var simpler: [ModelProgram] {
        simplerLists(of: steps).map { ModelProgram(steps: $0, threads: threads) }
            + threads.indices.flatMap { thread in
                simplerLists(of: threads[thread]).map { actions in
                    var program = self
                    program.threads[thread] = actions
                    if actions.isEmpty, threads.count > 1 { program.threads.remove(at: thread) }
                    return program
                }
            }
    }
}

private func simplerLists(of actions: [ModelAction]) -> [[ModelAction]] {
    actions.indices.flatMap { index in
        let others = actions[..<index] + actions[(index + 1)...]
        return [Array(others)]
            + actions[index].simpler.map { actions[..<index] + [$0] + actions[(index + 1)...] }
    }
}

extension ModelAction {
    fileprivate var simpler: [ModelAction] {
        switch self {
        case .source(let id, let kind, var canceller?):
            return [.source(id: id, kind, nil)]
                + simplerLists(of: canceller.actions).map {
                    canceller.actions = $0
                    return .source(id: id, kind, canceller)
                }
        case .finally(let id, let target, let actions):
            return simplerLists(of: actions).map { .finally(id: id, target, $0) }
        case .attach(let id, let target, let callback, let keep):
            return callback.simpler.map { .attach(id: id, to: target, $0, keep: keep) }
        case .list(let id, let inputs, let rule, let options, let keep):
            let isPlain = !options.consumesErrors && !options.cancelsRemaining
            return (isPlain ? [] : [.list(id: id, inputs, rule, ListOptions(), keep: keep)])
                + inputs.indices.map { index in
                    let others = Array(inputs[..<index] + inputs[(index + 1)...])
                    return .list(id: id, others, rule, options, keep: keep)
                }
        default:
            return []
        }
    }
}

extension Callback {
    fileprivate var simpler: [Callback] {
        func changed(_ change: (inout Callback) -> Void) -> Callback {
            var callback = self
            change(&callback)
            return callback
        }
        return (dispatcher == nil ? [] : [changed { $0.dispatcher = nil }])
            + simplerLists(of: atEnd).map { actions in changed { $0.atEnd = actions } }
            + onValue.simpler.map { body in changed { $0.onValue = body } }
            + onFailure.simpler.map { body in changed { $0.onFailure = body } }
    }
}

extension ScriptedBody {
    fileprivate var simpler: [ScriptedBody] {
        let isEcho = if case .echo = answer { true } else { false }
        return simplerLists(of: actions).map { ScriptedBody(actions: $0, answer: answer) }
            + (isEcho ? [] : [ScriptedBody(actions: actions)])
    }
}
