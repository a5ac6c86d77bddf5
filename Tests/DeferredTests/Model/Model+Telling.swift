/// Settling, and telling those who wait.
extension Model {
    /// Gives a node its outcome. What told it belongs to `scopes`.
    func settle(_ node: Node, _ outcome: Outcome, _ scopes: [Scope], in frame: Frame) {
        node.outcome = outcome
        node.state = .settled
        node.work = .nothing
        node.canceller = nil
        node.cancelIsPending = false
        if case .failure = outcome { noteFailure(of: node) }
        let following = node.following
        node.following = []
        for follower in following { withdraw(follower) }

        join(node, scopes)
        openScope(of: node, outcome)
        if node.attached.isEmpty {
            leaveScopes(node)
        } else {
            node.isBeingTold = true
            frame.queue.append(.tell(node))
        }
    }

    func attach(_ consumer: Node, to node: Node) {
        consumer.state = .waiting(for: node)
        checkDetermined(node)
        node.attached.append(consumer)
        if node.outcome == nil || node.isBeingTold || node.pauses > 0 { return }
        node.isBeingTold = true
        inFrame { tell(node, in: $0) }
    }

    /// A frame will come to `node`, but nobody is left who waits there: the rules may be read to mean that it
    /// is idle, or not.
    func checkDetermined(_ node: Node) {
        if node.isBeingTold && !node.tellingHasBegun
            && !node.attached.contains(where: { $0.waits(for: node) })
        {
            undetermined = "attached to a Deferred all of whose consumers have withdrawn, before its turn"
        }
    }

    /// Tells those who wait for `node`. What came of it before, and must wait until all have been told (F4),
    /// is in the queue from `start` on.
    func tell(_ node: Node, in frame: Frame, from start: Int? = nil) {
        let start = start ?? frame.queue.count
        node.tellingHasBegun = true
        while !node.attached.isEmpty {
            if node.pauses > 0 { return hold(node, in: frame, from: start) }
            let consumer = node.attached.removeFirst()
            guard consumer.waits(for: node), let outcome = node.outcome else { continue }
            if consumer.cancelIsPending {
                consumer.cancelIsPending = false
                _ = give(consumer, .failure(.cancelled), from: node, in: frame)
            } else if give(consumer, outcome, from: node, in: frame) {
                node.isHandled = true
            }
        }
        node.isBeingTold = false
        node.tellingHasBegun = false
        leaveScopes(node)
    }

    private func hold(_ node: Node, in frame: Frame, from start: Int) {
        node.heldBack = Array(frame.queue[start...])
        frame.queue.removeSubrange(start...)
        node.isBeingTold = false
        node.tellingHasBegun = false
    }

    /// Goes on telling after a pause.
    func resume(_ node: Node) {
        node.pauses = 0
        guard node.outcome != nil, !node.isBeingTold, !node.attached.isEmpty else { return }
        node.isBeingTold = true
        inFrame { frame in
            frame.queue = node.heldBack
            node.heldBack = []
            tell(node, in: frame, from: 0)
        }
    }

    /// It is the turn of `consumer`. True if a failure has found somebody with that.
    func give(_ consumer: Node, _ outcome: Outcome, from upstream: Node, in frame: Frame) -> Bool {
        let work = consumer.work
        consumer.work = .nothing
        consumer.state = .running
        let scopes = upstream.scopes
        switch work {
        case .nothing:
            preconditionFailure("what waits has something to do")
        case .adopt:
            settle(consumer, outcome, scopes, in: frame)
            return true
        case .callback(let callback, let body):
            join(consumer, scopes)
            handOver(
                Work(node: consumer, callback: callback, body: body, outcome: outcome, upstream: upstream),
                in: frame)
            return true
        case .watch(let list, let index):
            consumer.state = .settled
            return receive(outcome, at: index, list, scopes, in: frame)
        case .forward(let target):
            consumer.state = .settled
            target.following.removeAll { $0 === consumer }
            guard target.isSource else { return false }
            settle(target, outcome, scopes, in: frame)
            return true
        }
    }

    private func handOver(_ work: Work, in frame: Frame) {
        switch work.callback.dispatcher {
        case nil, .inline:
            conclude(work.node, call(work.callback, work.body, work.outcome), in: frame)
        case .dropping:
            work.node.isLostByDispatcher = true
            settle(work.node, .failure(.abandoned), [], in: frame)
        case .manual:
            work.node.state = .handedOver
            works.append(work)
        }
    }

    func runWork() -> Bool {
        guard !works.isEmpty else { return false }
        let work = works.removeFirst()
        var outcome = work.outcome
        if work.node.cancelIsPending {
            work.node.cancelIsPending = false
            outcome = .failure(.cancelled)
            leaveOpen(work.upstream)
        }
        work.node.state = .running
        inFrame { conclude(work.node, call(work.callback, work.body, outcome), in: $0) }
        return true
    }

    func dropWork() -> Bool {
        guard !works.isEmpty else { return false }
        let work = works.removeFirst()
        if work.node.cancelIsPending { undetermined = "a dispatcher let go of a cancelled callback" }
        work.node.isLostByDispatcher = true
        inFrame { settle(work.node, .failure(.abandoned), [], in: $0) }
        return true
    }

    private func call(_ callback: Callback, _ body: CallbackBody, _ outcome: Outcome) -> CallbackAnswer<
        Handle
    > {
        switch (callback.form, outcome) {
        case (.then, .value), (.fail, .failure), (.trap, .failure(.test)), (.both, _), (.pair, _):
            body(outcome)
        case (.then, .failure), (.fail, .value), (.trap, _): .outcome(outcome)
        }
    }

    private func conclude(_ node: Node, _ answer: CallbackAnswer<Handle>, in frame: Frame) {
        switch answer {
        case .outcome(let outcome): settle(node, outcome, [], in: frame)
        case .handle(let handle): wait(node, for: handle.node, in: frame)
        }
    }

    /// L4, L5.
    private func wait(_ node: Node, for inner: Node, in frame: Frame) {
        if inner === node || reaches(inner, node) {
            if node.cancelIsPending { undetermined = "a cancelled callback closes a ring" }
            return settle(node, .failure(.cycle), [], in: frame)
        }
        if let outcome = inner.outcome, !inner.isBeingTold, inner.pauses == 0 {
            inner.isHandled = true
            return settle(node, outcome, [], in: frame)
        }
        checkDetermined(inner)
        node.state = .waiting(for: inner)
        node.work = .adopt
        inner.attached.append(node)
        guard node.cancelIsPending else { return }
        // The cancel was for what the callback would give; it does not stay with those downstream.
        for consumer in node.attached { consumer.cancelIsPending = false }
        if inner.outcome == nil {
            node.cancelIsPending = false
            cancel(node, in: frame)
        }
    }

    /// Whether `node` waits for `target`, through whatever.
    func reaches(_ node: Node, _ target: Node) -> Bool {
        let next: [Node]
        switch node.state {
        case .waiting(let upstream): next = upstream.outcome == nil ? [upstream] : []
        case .source: next = node.following + (node.list?.watches ?? [])
        case .handedOver, .running, .settled: next = []
        }
        return next.contains { $0 === target || reaches($0, target) }
    }
}
