/// `wait`, and when it is refused: if the Deferred cannot be settled before something has run on this thread.
extension Model {
    func wait(_ handle: Handle) -> Waited {
        if handle.node.pauses == 0, let outcome = look(handle) { return .outcome(outcome) }
        let isCertain = isStuck(handle.node)
        if handle.node.pauses > 0, handle.node.isDraining {
            undetermined = "whether a wait that has ended is a consumer whose notification a pause suspends"
        }
        if !hasThreads { return isCertain ? .wouldDeadlock : .timedOut }
        // Where other threads move the chain meanwhile, it may not be seen, and the time limit passes.
        return isCertain && choose(2) == 0 ? .wouldDeadlock : waitForThreads(handle.node)
    }

    /// The time limit may pass at any time.
    private func waitForThreads(_ node: Node) -> Waited {
        var outcome: ModelOutcome?
        let consumer = make(0, .settled, .resume { outcome = $0 })
        attach(consumer, to: node)
        pass()
        detach(consumer)
        return outcome.map { .outcome($0) } ?? .timedOut
    }

    private func isStuck(_ node: Node) -> Bool {
        switch node.state {
        case .running, .detached:
            return node.activeThread == currentThread()
        case .settled:
            // A new consumer is notified after the earlier ones, unless a pause suspends it.
            return node.isDraining && node.drainingThread == currentThread()
                && !nodes.contains { $0.suspends(node) }
        case .waiting(let upstream):
            // A shield is a source that follows.
            return !node.isShield && isStuck(upstream)
        case .dispatched, .source:
            return false
        }
    }
}

extension Model.Node {
    /// Whether a pause of this node suspends the notification of the consumers of `other`.
    func suspends(_ other: Model.Node) -> Bool {
        suspendedTasks.contains { if case .drain(let node) = $0 { node === other } else { false } }
    }
}

/// C6: a Task that awaits a Deferred is a consumer. Cancelled, it goes on at once.
extension Model {
    func task(
        _ handle: Handle, _ resumed: @escaping (ModelOutcome) -> Void
    ) -> (await: () -> Void, cancel: () -> Void) {
        let node = make(0, .settled)
        var (isCancelled, isResumed, hasBegun) = (false, false, false)
        return (
            { [self] in
                isResumed = isCancelled
                if isResumed { resumed(.failure(.cancelled)) }
                node.work = isResumed ? .ignore : .resume(resumed)
                attach(node, to: handle.node)
                pass()
                hasBegun = true
                if isResumed { inDrainLoop { cancel([node], in: $0) } }
            },
            { [self] in
                // For the runtime, a second cancel of a Task is none.
                if isCancelled { return }
                isCancelled = true
                pass()
                guard case .resume = node.work else { return }
                (isResumed, node.work) = (true, .ignore)
                // An await that is just beginning detaches itself.
                let cancels = hasBegun
                resumed(.failure(.cancelled))
                pass()
                if cancels { inDrainLoop { cancel([node], in: $0) } }
            }
        )
    }
}
