/// Handles and resolvers, and the operations on them.
extension Model {
    final class Handle {
        let node: Node
        let isPlain: Bool
        private let canComplete: Bool
        private let model: Model

        init(_ model: Model, _ node: Node, canComplete: Bool = false, isPlain: Bool = true) {
            self.model = model
            self.node = node
            self.canComplete = canComplete
            self.isPlain = isPlain
            node.handles += 1
            if canComplete { node.completers += 1 }
        }

        deinit {
            node.handles -= 1
            if canComplete { node.completers -= 1 }
            model.handleWasReleased(node)
        }

        var isCompletable: Bool { canComplete }
    }

    final class Trigger {
        let node: Node
        /// A canceller's own resolver counts only while the canceller runs.
        let counts: Bool
        private let model: Model

        init(_ model: Model, _ node: Node, counts: Bool) {
            self.model = model
            self.node = node
            self.counts = counts
            node.resolvers += 1
            if counts { node.completers += 1 }
        }

        deinit {
            node.resolvers -= 1
            guard counts else { return }
            node.completers -= 1
            model.handleWasReleased(node)
        }
    }

    func handleWasReleased(_ node: Node) {
        // P1: a suspended node continues; a pending one, or one that is being drained, is no longer paused.
        if node.handles == 0 && node.pauses > 0 { resume(node) }
        // One whose canceller is about to run is not abandoned.
        if node.completers == 0, node.isSource, node.list == nil, !node.isClaimed, node.following.isEmpty {
            abandon(node)
        }
    }

    /// A1. An abandonment is not reported in itself (U1).
    private func abandon(_ node: Node) {
        node.isHandled = true
        begin(node)
        // A cancel that comes now waits for its end.
        pass()
        inDrainLoop { fail(node, .abandoned, in: $0) }
    }

    /// Ends what has retained a source meanwhile.
    func release(_ node: Node) {
        node.completers -= 1
        node.handles -= 1
        handleWasReleased(node)
    }

    func source(_ id: Int, canceller: ((Trigger) -> Void)?) -> Handle {
        let node = make(id, .source)
        node.canceller = canceller
        node.isCompletedByHandles = true
        return Handle(self, node, canComplete: true)
    }

    func sourceWithResolver(_ id: Int, canceller: ((Trigger) -> Void)?) -> (Handle, Trigger) {
        let node = make(id, .source)
        node.canceller = canceller
        return (Handle(self, node), Trigger(self, node, counts: true))
    }

    func settled(_ id: Int, _ outcome: ModelOutcome) -> Handle {
        let node = make(id, .source)
        inDrainLoop { settle(node, outcome, [], in: $0) }
        return Handle(self, node)
    }

    func isPlain(_ handle: Handle) -> Bool { handle.isPlain }

    func complete(_ handle: Handle, _ outcome: ModelOutcome, at site: Int) -> Bool {
        guard handle.isCompletable else {
            reports.append(.notCompletable(made: handle.node.made, at: site))
            return false
        }
        return complete(handle.node, outcome, site, first: site, isOwn: false)
    }

    func complete(_ resolver: Trigger, _ outcome: ModelOutcome, at site: Int) -> Bool {
        using(resolver) { completeNow(resolver, outcome, at: site) }
    }

    /// Calls `body` as a call in progress does, which may retain a paused Deferred (P1).
    private func using(_ resolver: Trigger, _ body: () -> Bool) -> Bool {
        let node = resolver.node
        guard pauses, node.isSource, retainsMeanwhile(node) else { return body() }
        pass()
        defer { release(node) }
        return body()
    }

    private func completeNow(_ resolver: Trigger, _ outcome: ModelOutcome, at site: Int) -> Bool {
        let first = resolver.counts ? site : nil
        // Completed by this thread, it is settled next. Another completion comes too late, and a cancel does.
        guard resolver.node.isSource else {
            return complete(resolver.node, outcome, site, first: first, isOwn: false)
        }
        resolver.node.isTaken = true
        pass()
        resolver.node.isTaken = false
        return complete(resolver.node, outcome, site, first: first, isOwn: !resolver.counts)
    }

    /// - Parameter isOwn: Whether this comes through the resolver of the canceller.
    private func complete(
        _ node: Node, _ outcome: ModelOutcome, _ site: Int, first: Int?, isOwn: Bool
    ) -> Bool {
        guard node.outcome == nil, !node.isTaken else {
            if node.dropsLateResult {
                node.dropsLateResult = false
            } else {
                reports.append(.alreadySettled(made: node.made, first: node.settledFirst, again: site))
            }
            return false
        }
        node.settledFirst = first
        let isAnswer = node.isInCanceller && (isOwn || node.activeThread == currentThread())
        inDrainLoop { complete(node, outcome, isAnswer: isAnswer, in: $0) }
        return true
    }

    func isCancelled(_ resolver: Trigger) -> Bool { using(resolver) { resolver.node.isCancelled } }

    func follow(_ handle: Handle, _ other: Handle, at site: Int) {
        guard handle.isCompletable else {
            reports.append(.notCompletable(made: handle.node.made, at: site))
            return
        }
        follow(handle.node, other.node)
    }

    func follow(_ resolver: Trigger, _ other: Handle) { follow(resolver.node, other.node) }

    private func follow(_ node: Node, _ other: Node) {
        guard node.isSource else { return }
        if other === node || reaches(other, node) {
            return inDrainLoop { fail(node, .cycle, in: $0) }
        }
        let follower = make(node.made, .waiting(for: other), .forward(to: node))
        node.following.append(follower)
        let isCancelled = node.isBeingCancelled && !node.isClaimed
        pass()
        guard follower.waits(for: other) else { return }
        attach(follower, to: other)
        pass()
        if isCancelled { inDrainLoop { cancel([follower], in: $0) } }
    }

    func attach(
        _ id: Int, to handle: Handle, _ callback: Callback, _ body: @escaping CallbackBody,
        atEnd: (() -> Void)?
    ) -> Handle {
        let node = make(id, .waiting(for: handle.node), .callback(callback, body))
        node.atEnd = atEnd
        let position = Handle(self, node)
        node.isAttaching = true
        attach(node, to: handle.node)
        node.isAttaching = false
        if node.isReleased { releaseCallback(of: node) }
        return position
    }

    func shielded(_ id: Int, _ handle: Handle) -> Handle {
        let node = make(id, .waiting(for: handle.node), .adopt)
        node.isShield = true
        let position = Handle(self, node, isPlain: handle.isPlain)
        attach(node, to: handle.node)
        return position
    }

    func pause(_ handle: Handle) { handle.node.pauses += 1 }

    func unpause(_ handle: Handle, at site: Int) {
        let node = handle.node
        guard node.pauses > 0 else {
            reports.append(.unbalanced(made: node.made, at: site))
            return
        }
        node.pauses -= 1
        if node.pauses == 0 { resume(node) }
    }

    func look(_ handle: Handle) -> ModelOutcome? {
        if handle.node.outcome != nil { handle.node.isHandled = true }
        return handle.node.outcome
    }
}
