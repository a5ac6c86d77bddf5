/// D1-D4.
extension Model {
    func list(_ id: Int, _ inputs: [Handle], _ rule: ListRule, _ options: ListOptions) -> Handle {
        var inputs = inputs
        var options = options
        if rule == .gather {
            inputs = inputs.count >= 2 ? Array(inputs[..<2]) : []
            options = ListOptions()
        }
        let node = make(id, .source)
        let list = List(node, rule, options, count: inputs.count)
        node.list = list
        let handle = Handle(self, node, isPlain: false)
        if inputs.isEmpty {
            inFrame { settle(node, rule == .first ? .failure(.empty) : outcome(of: list), [], in: $0) }
        }
        for (index, input) in inputs.enumerated() {
            let watch = make(id, .waiting(for: input.node), .watch(list, index))
            list.watches.append(watch)
            attach(watch, to: input.node)
        }
        list.isStarting = false
        if node.outcome != nil && options.cancelsRemaining { inFrame { cancelInputs(of: list, in: $0) } }
        return handle
    }

    func cancelList(_ inputs: [Handle]) {
        for input in inputs { cancel(input) }
    }

    /// True if a failure has found somebody with that.
    func receive(_ outcome: Outcome, at index: Int, _ list: List, _ scopes: [Scope], in frame: Frame) -> Bool
    {
        guard list.node.outcome == nil else { return list.options.consumeErrors }
        list.outcomes[index] = outcome
        let isComplete = !list.outcomes.contains(nil)
        switch (list.rule, outcome) {
        case (.values, .failure), (.gather, .failure):
            decide(list, outcome, scopes, in: frame)
        case (.first, .value(let value)):
            decide(list, .value(.place(index, value)), scopes, in: frame)
        case (.first, .failure):
            if isComplete { decide(list, outcome, scopes, in: frame) }
        case (.results, _), (.values, .value), (.gather, .value):
            if isComplete { decide(list, self.outcome(of: list), scopes, in: frame) }
        }
        return true
    }

    private func decide(_ list: List, _ outcome: Outcome, _ scopes: [Scope], in frame: Frame) {
        settle(list.node, outcome, scopes, in: frame)
        if list.options.cancelsRemaining && !list.isStarting { frame.queue.append(.cancelInputs(list)) }
    }

    private func outcome(of list: List) -> Outcome {
        let outcomes = list.outcomes.compactMap { $0 }
        if list.rule == .results { return .value(.outcomes(outcomes)) }
        return .value(
            .values(
                outcomes.compactMap { outcome in
                    if case .value(let value) = outcome { value } else { nil }
                }))
    }
}
