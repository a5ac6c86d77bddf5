/// C1-C5, C7.
///
/// A cancel is a request with a root, the node on which `cancel()` was called. It walks up from the root, link by link, and
/// takes effect where the chain stands: it fails a source, detaches a consumer, or marks one that is about to be
/// notified. If it meets a callback or a canceller that runs, it stays there, and begins again at its root when that
/// has ended. Until it takes effect, its root receives no outcome but `CancellationError`.
extension Model {
    /// The last of what a pause has suspended was detached.
    private func leaveIfNothingIsSuspended(_ node: Node) {
        guard node.outcome != nil, !node.isDraining, node.attached.isEmpty, node.suspendedTasks.isEmpty else {
            return
        }
        leaveScopes(node)
    }

    func cancel(_ handle: Handle) { cancelAsOne([handle]) }

    /// Cancels several as one (C7). What another thread is cancelling may be left to that.
    func cancelAsOne(_ handles: [Handle]) {
        let nodes = handles.map(\.node).filter { !($0.isCancelRequested && choose(2) == 1) }
        inDrainLoop { cancel(nodes, in: $0) }
    }

    /// Cancels nodes, unless a cancel is in progress on this loop, which then comes to them.
    ///
    /// All are reached before a canceller runs, and all cancellers have run before what was detached is notified (C7).
    ///
    /// - Parameter count: The number that is cancelled as one, with those that are settled.
    /// - Parameter isNew: Whether this is not a cancel that begins again.
    func cancel(_ roots: [Node], of count: Int? = nil, isNew: Bool = true, in loop: DrainLoop) {
        loop.roots += roots.map { ($0, isNew) }
        if loop.isCancelling { return }
        loop.isCancelling = true
        loop.cancelsSeveral = (count ?? roots.count) > 1
        var isFirst = true
        while true {
            if !isFirst { pass() }
            isFirst = false
            if !loop.retained.isEmpty, choose(2) == 1 { releaseRetained(by: loop) }
            if !loop.roots.isEmpty {
                let (root, isNew) = loop.roots.removeFirst()
                if isNew, root.outcome == nil { root.openCancels += 1 }
                pass()
                request(root, in: loop)
            } else if !loop.claimed.isEmpty {
                runCanceller(of: loop.claimed.removeFirst(), in: loop)
            } else if !loop.ended.isEmpty {
                leaveScopes(loop.ended.removeFirst())
            } else if !loop.detached.isEmpty {
                let (node, upstream) = loop.detached.removeFirst()
                _ = deliver(node, .failure(.cancelled), from: upstream, in: loop)
                leaveScopes(upstream)
            } else {
                break
            }
        }
        loop.isCancelling = false
        releaseRetained(by: loop)
    }

    private func releaseRetained(by loop: DrainLoop) {
        let retained = loop.retained
        loop.retained = []
        for node in retained { release(node) }
    }

    /// Walks up from `root` until the request takes effect, or can stay with what runs.
    private func request(_ root: Node, in loop: DrainLoop) {
        var node = root
        var isNested = false
        while root.outcome == nil, root.isCancelRequested {
            switch node.state {
            case .settled:
                // A follower that has been detached meanwhile.
                return root.endCancel()
            case .detached where node.activeThread == currentThread():
                // The same cancel, or one from within it.
                return root.endCancel()
            case .running, .detached:
                return leave(root, in: node)
            case .dispatched:
                node.cancelIsPending = true
                return root.endCancel()
            case .source:
                if isNested || node.list != nil, mayComeLater(root, in: loop) {
                    return loop.roots.append((root, false))
                }
                _ = retain(node, in: loop)
                return cancelSource(node, root, in: loop)
            case .waiting where node !== root && mayLeave(to: node):
                return leave(root, in: node)
            case .waiting(let upstream):
                if case .adopt = node.work, !node.isShield { (isNested, node.cancelsNested) = (true, true) }
                if retain(upstream, in: loop) {
                    pass()
                    continue
                }
                if isHeldBack(by: upstream), !node.isShield {
                    // Only outcomes wait for the end of a pause (P1).
                    let isOnly = !isConsumed(upstream, byOthersThan: node)
                    let isPending = upstream.outcome == nil
                    if isPending, isOnly, upstream.scopeOfDetached == nil {
                        upstream.scopeOfDetached = scopeToHold()
                    }
                    detach(node, from: upstream, root, in: loop, isOnly ? upstream.scopeOfDetached : nil)
                    if isPending, isOnly { loop.roots.append((upstream, true)) }
                    return
                }
                if upstream.outcome != nil, !node.isShield {
                    // A list cancels pending inputs only.
                    root.endCancel()
                    if case .observer = node.work { return }
                    return failBeforeDequeued(node, upstream, in: loop)
                } else if node.isShield {
                    // It stays attached, and remains a consumer.
                    root.endCancel()
                    _ = deliver(node, .failure(.cancelled), from: nowhere, in: loop)
                    return
                } else if isConsumed(upstream, byOthersThan: node) {
                    if isNested, mayComeLater(root, in: loop) { return loop.roots.append((root, false)) }
                    return detach(node, from: upstream, root, in: loop)
                } else {
                    node = upstream
                    pass()
                    if node.outcome != nil { node = root }
                }
            }
        }
    }

    /// Detaches a consumer, which is to receive the cancellation.
    ///
    /// - Parameter scope: The scope of what comes of that.
    private func detach(
        _ node: Node, from upstream: Node, _ root: Node, in loop: DrainLoop, _ scope: Scope? = nil
    ) {
        upstream.attached.removeAll { $0 === node }
        root.endCancel()
        if node.isCancelledFollower { node.openCancels = 0 }
        node.state = .detached
        node.activeThread = currentThread()
        let standIn = nowhere
        if upstream.outcome != nil {
            // A failure would have been the consumer's; not that of a list that has been settled (D3).
            if case .observer = node.work {} else { upstream.isHandled = true }
            join(standIn, upstream.scopes)
        } else if let scope {
            join(standIn, [scope])
        }
        loop.detached.append((node, standIn))
        leaveIfNothingIsSuspended(upstream)
    }

    /// Whether a Deferred is paused, so that nothing attached to it is notified before the end of that.
    func isHeldBack(by node: Node) -> Bool {
        if node.outcome == nil { return node.pauses > 0 }
        return node.isDraining ? nodes.contains { $0.suspends(node) } : node.pauses > 0
    }

    private func isConsumed(_ upstream: Node, byOthersThan node: Node) -> Bool {
        upstream.attached.contains { $0 !== node && !$0.onlyObserves }
    }

    /// C5: what came of the cancels that had taken effect above `node` has led to something new to wait for, is passed
    /// to a dispatcher, or is held back by a pause. They were answered: a source that follows keeps them no longer.
    func noteAnswer(at node: Node) {
        var hasChanged = true
        while hasChanged {
            hasChanged = false
            for source in nodes where source.isSource && source.isBeingCancelled && !source.isClaimed {
                for follower in source.following
                where follower.isCancelledFollower && !follower.isCancelRequested
                    && (follower.waits(for: node) || reaches(follower, node))
                {
                    follower.isCancelledFollower = false
                    hasChanged = true
                }
                if source.following.isEmpty || source.following.contains(where: \.isCancelledFollower) {
                    continue
                }
                source.isBeingCancelled = false
                hasChanged = true
                endRequests(in: source)
            }
        }
    }

    /// As with a source that follows, a cancel may leave a nested wait to another thread that is cancelling it.
    private func mayLeave(to node: Node) -> Bool {
        guard case .adopt = node.work, !node.isShield else { return false }
        return hasThreads && node.isCancelRequested && choose(2) == 1
    }

    /// Of several that are cancelled as one, C7 leaves open whether one that waits for a nested Deferred, or for a list,
    /// comes last.
    private func mayComeLater(_ root: Node, in loop: DrainLoop) -> Bool {
        guard loop.cancelsSeveral, !root.cameLater, !loop.roots.isEmpty else { return false }
        if !hasThreads {
            undetermined = "which of several is cancelled last, where one waits for a nested one or a list"
        }
        root.cameLater = hasThreads && choose(2) == 1
        return root.cameLater
    }

    /// Returns whether a cancel in progress retains what it has reached.
    private func retain(_ node: Node, in loop: DrainLoop) -> Bool {
        guard !loop.retained.contains(where: { $0 === node }), retainsMeanwhile(node) else { return false }
        loop.retained.append(node)
        return true
    }

    /// A1 and P1 do not say whether a call in progress retains what could complete or unpause a Deferred. Returns
    /// whether this one does, until `release`.
    func retainsMeanwhile(_ node: Node) -> Bool {
        guard releasesHandles, node.completers > 0 || node.pauses > 0, choose(2) == 1 else { return false }
        node.completers += 1
        node.handles += 1
        return true
    }

    /// C5: a link that has not been dequeued receives the error when it is, or at once.
    private func failBeforeDequeued(_ node: Node, _ upstream: Node, in loop: DrainLoop) {
        if choose(2) == 0 {
            node.cancelIsPending = true
        } else {
            upstream.isHandled = true
            upstream.attached.removeAll { $0 === node }
            failDetached(node, in: loop)
        }
    }

    /// Notifies a link of the error that nothing upstream notifies any more.
    private func failDetached(_ node: Node, in loop: DrainLoop) {
        begin(node)
        pass()
        _ = deliver(node, .failure(.cancelled), from: nowhere, in: loop)
    }

    private var nowhere: Node { Node(0, .settled) }

    private func leave(_ root: Node, in node: Node) {
        if node.requests.contains(where: { $0 === root }) { return root.endCancel() }
        node.requests.append(root)
    }

    /// Takes the requests out of a node in which they wait. They have no effect any more.
    func endRequests(in node: Node) {
        for root in node.requests { root.endCancel() }
        node.requests = []
    }

    /// Begins each request anew that waited in `node`, in place of `operation` if that was a cancel of `node` itself.
    func repeatRequests(in node: Node, _ loop: DrainLoop) {
        let roots = node.requests
        node.requests = []
        for root in roots {
            if root === node, node.outcome != nil {
                root.endCancel()
            } else if root.isCancelRequested {
                pass()
                cancel([root], isNew: false, in: loop)
            }
        }
    }

    /// Fails a node that closes a cycle (L5). One that was cancelled ends with the cancel, if both meet (C5): by a cancel
    /// of what follows it (C3), which nothing has answered, since what the errback returned is not waited for.
    func failAsCycle(_ node: Node, in loop: DrainLoop) {
        let isBeingCancelled = nodes.contains { source in
            source.isSource && source.isBeingCancelled && !source.isClaimed
                && source.following.contains { follower in
                    follower.isCancelledFollower && (follower.waits(for: node) || reaches(follower, node))
                }
        }
        fail(node, isBeingCancelled ? .cancelled : .cycle, in: loop)
    }

    /// Fails a node that nothing completes any more; a cancel that meets it counts (C5).
    func fail(_ node: Node, _ fault: Fault, in loop: DrainLoop) {
        let isCancelled =
            !node.requests.isEmpty || node.isCancelRequested || node.cancelIsPending || node.isBeingCancelled
        endRequests(in: node)
        settle(node, .failure(isCancelled ? .cancelled : fault), [], in: loop)
    }

    private func cancelSource(_ node: Node, _ root: Node, in loop: DrainLoop) {
        if node.isInCanceller, node.activeThread == currentThread(), root === node {
            root.endCancel()
            return
        }
        leave(root, in: node)
        if node.isClaimed { return }
        if node.isTaken { return noteCancel(of: node) }
        if let list = node.list { return cancel(list, in: loop) }
        noteCancel(of: node)
        if node.canceller != nil {
            node.isClaimed = true
            loop.claimed.append(node)
        } else {
            endCancel(of: node, in: loop)
        }
    }

    /// Fails a list, unless another thread is about to settle it.
    private func cancel(_ list: List, in loop: DrainLoop) {
        (list.node.isCancelled, list.node.isBeingCancelled) = (true, true)
        if list.isTaken { return }
        endRequests(in: list.node)
        (list.isDecided, list.isTaken) = (true, true)
        let scope = scopeToHold()
        list.scopeBelow = scope
        pass()
        settle(list.node, .failure(.cancelled), [scope], in: loop)
        repeatRequests(in: list.node, loop)
        if loop.cancelsSeveral {
            let inputs = inputsToCancel(of: list)
            cancel(inputs, in: loop)
            loop.queue.append(.leave(inputs))
        } else {
            loop.queue.append(.cancelInputs(list))
        }
    }

    private func noteCancel(of node: Node) {
        node.isBeingCancelled = true
        if node.isCancelled { return }
        node.isCancelled = true
        node.dropsLateResult = true
    }

    /// Fails a source that has no canceller, or none that has completed it; or cancels what it follows.
    private func endCancel(of node: Node, in loop: DrainLoop) {
        if node.following.isEmpty {
            endRequests(in: node)
            settle(node, .failure(.cancelled), [], in: loop)
            return
        }
        if node.following.count > 1 { loop.cancelsSeveral = true }
        for follower in node.following
        where !follower.isCancelRequested && !loop.roots.contains(where: { $0.node === follower }) {
            follower.isCancelledFollower = true
            cancel([follower], in: loop)
        }
    }

    private func runCanceller(of node: Node, in loop: DrainLoop) {
        guard node.outcome == nil, let canceller = node.canceller else { return }
        node.canceller = nil
        node.isInCanceller = true
        node.activeThread = currentThread()
        let followed = node.following.count
        canceller(Trigger(self, node, counts: false))
        pass()
        node.isInCanceller = false
        node.isClaimed = false
        if node.following.count > followed {
            undetermined = "a canceller made its Deferred follow another"
        }
        if node.outcome == nil && !node.isTaken { endCancel(of: node, in: loop) }
    }

    /// Completes a source. What its canceller brings about answers the cancels that wait there (C1); another outcome
    /// leaves them to take effect below it (C5).
    func complete(
        _ node: Node, _ outcome: ModelOutcome, _ scopes: [Scope] = [], from upstream: Node? = nil,
        isAnswer: Bool, in loop: DrainLoop
    ) {
        if isAnswer { endRequests(in: node) }
        settle(node, outcome, scopes, from: upstream, in: loop)
        repeatRequests(in: node, loop)
    }

    /// Stops waiting. It will not be notified.
    func detach(_ consumer: Node) {
        guard case .waiting(let upstream) = consumer.state else { return }
        consumer.state = .settled
        consumer.work = .nothing
        if upstream.outcome == nil {
            upstream.attached.removeAll { $0 === consumer }
        } else if isHeldBack(by: upstream) {
            // Z1: a finalizer waits for what is attached, and no longer for this.
            upstream.attached.removeAll { $0 === consumer }
            leaveIfNothingIsSuspended(upstream)
        }
    }

    /// D3, D4.
    func cancelInputs(of list: List, in loop: DrainLoop) {
        if list.node.pauses > 0 && !list.node.attached.isEmpty && list.options.cancelsRemaining {
            undetermined = "\"once settled, and its own callbacks have run\": a pause suspends those"
        }
        let count = list.body == nil ? list.observers.count : nil
        let inputs = inputsToCancel(of: list)
        cancel(inputs, of: count, in: loop)
        leave(inputs)
    }

    /// V3: what a list has decided it does not keep. An observer with which a cancel began waits for what becomes of
    /// that, and is no consumer.
    func leave(_ observers: [Node]) {
        for observer in observers where observer.upstream != nil { observer.onlyObserves = true }
    }

    /// V3: leaves inputs that are not cancelled.
    func detachInputs(of list: List) {
        let observers = list.observers
        list.observers = []
        for observer in observers {
            guard let input = observer.upstream else { continue }
            if list.options.consumesErrors { input.isHandled = true }
            if input.outcome != nil, !isHeldBack(by: input) { continue }
            pass()
            guard observer.waits(for: input) else { continue }
            remove(observer, from: input)
            // Of a list with a limit: the link that it has attached to an input.
            guard list.body != nil, let own = input.upstream, input.attached.isEmpty else { continue }
            if input.isHandled { own.isHandled = true }
            if own.outcome == nil || isHeldBack(by: own) { remove(input, from: own) }
        }
    }

    private func inputsToCancel(of list: List) -> [Node] {
        let observers = list.observers
        list.observers = []
        for observer in observers {
            guard let input = observer.upstream else { continue }
            if list.options.consumesErrors { input.isHandled = true }
        }
        return observers.filter { observer in
            observer.upstream.map { $0.outcome == nil || isHeldBack(by: $0) } ?? false
        }
    }

    /// Ends a consumer that needs the outcome no longer.
    private func remove(_ consumer: Node, from upstream: Node) {
        upstream.attached.removeAll { $0 === consumer }
        (consumer.state, consumer.work) = (.settled, .nothing)
        leaveIfNothingIsSuspended(upstream)
    }
}
