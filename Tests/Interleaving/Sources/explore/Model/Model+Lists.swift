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
            inDrainLoop { settle(node, outcome(of: list), [], in: $0) }
        }
        for (index, input) in inputs.enumerated() {
            if index > 0 { pass() }
            let observer = make(id, .waiting(for: input.node), .observer(list, index))
            list.observers.append(observer)
            attach(observer, to: input.node)
        }
        list.isStarting = false
        if node.outcome != nil {
            if options.cancelsRemaining {
                inDrainLoop { cancelInputs(of: list, in: $0) }
            } else {
                detachInputs(of: list)
            }
        }
        return handle
    }

    /// D5.
    func limitedList(
        _ id: Int, _ count: Int, _ limit: Int, _ rule: ListRule, _ body: @escaping (Int) -> Handle?
    ) -> Handle {
        let node = make(id, .source)
        let list = List(node, rule, ListOptions(), count: count)
        (list.body, list.free, list.isStarting) = (body, limit, false)
        node.list = list
        let handle = Handle(self, node, isPlain: false)
        inDrainLoop { startInputs(of: list, in: $0) }
        return handle
    }

    /// Starts inputs while there is room. L5: one that waits for the list itself fails it.
    func startInputs(of list: List, in loop: DrainLoop) {
        if list.isStarting { return }
        list.isStarting = true
        defer { list.isStarting = false }
        while list.free > 0, list.begun < list.outcomes.count, list.node.outcome == nil, !list.isDecided {
            let index = list.begun
            list.begun += 1
            list.free -= 1
            let input = list.body?(index) ?? settled(0, .value(.number(0)))
            pass()
            if list.node.outcome == nil, input.node === list.node || reaches(input.node, list.node) {
                return fail(list.node, .cycle, in: loop)
            }
            // The failure of an input belongs to the list's own link, also if the list is cancelled meanwhile (D3).
            let link = make(list.node.made, .waiting(for: input.node), .adopt)
            attach(link, to: input.node)
            pass()
            if list.node.outcome != nil { return cancel([link], in: loop) }
            let observer = make(list.node.made, .waiting(for: link), .observer(list, index))
            list.observers.append(observer)
            attach(observer, to: link)
        }
    }

    func cancelList(_ inputs: [Handle]) {
        cancelAsOne(inputs)
    }

    /// Whether the failure counts as handled because of this.
    func receive(
        _ outcome: ModelOutcome, at index: Int, _ list: List, from input: Node, in loop: DrainLoop
    ) -> Bool {
        guard list.node.outcome == nil, !list.isDecided else {
            if let scope = list.scopeBelow { hold(input.scopes, in: scope) }
            // What a list with a limit started, and nothing completes any more, is its own.
            return list.options.consumesErrors || list.body != nil && outcome == .failure(.abandoned)
        }
        list.outcomes[index] = outcome
        list.free += 1
        let isComplete = !list.outcomes.contains(nil)
        switch (list.rule, outcome) {
        case (.values, .failure), (.gather, .failure):
            decide(list, outcome, from: input, in: loop)
        case (.first, .value(let value)):
            decide(list, .value(.place(index, value)), from: input, in: loop)
        case (.firstSettled, _):
            decide(list, .value(.settled(index, outcome)), from: input, in: loop)
        case (.first, .failure):
            if isComplete { decide(list, outcome, from: input, in: loop) }
        case (.results, _), (.values, .value), (.gather, .value):
            if isComplete { decide(list, self.outcome(of: list), from: input, in: loop) }
        }
        if list.body != nil { startLater(list, in: loop) }
        return true
    }

    /// The next input starts after this notification, or after all consumers of the present input: D5 leaves it open.
    private func startLater(_ list: List, in loop: DrainLoop) {
        if choose(2) == 0 {
            loop.queue.append(.startInputs(list))
        } else {
            inDrainLoop { startInputs(of: list, in: $0) }
        }
    }

    private func decide(_ list: List, _ outcome: ModelOutcome, from input: Node, in loop: DrainLoop) {
        list.isDecided = true
        pass()
        if list.isTaken { return }
        list.isTaken = true
        pass()
        settle(list.node, outcome, input.scopes, from: input, in: loop)
        repeatRequests(in: list.node, loop)
        if !list.options.cancelsRemaining {
            if !list.isStarting || list.body != nil { detachInputs(of: list) }
        } else if !list.isStarting {
            loop.queue.append(.cancelInputs(list))
        }
    }

    private func outcome(of list: List) -> ModelOutcome {
        let outcomes = list.outcomes.compactMap { $0 }
        switch list.rule {
        case .results: return .value(.outcomes(outcomes))
        case .first, .firstSettled: return .failure(.empty)
        case .values, .gather: break
        }
        return .value(
            .values(
                outcomes.compactMap { outcome in
                    if case .value(let value) = outcome { value } else { nil }
                }))
    }
}
