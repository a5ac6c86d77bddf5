/// C1-C5, C7.
///
/// A cancel is a request with a root, the node on which `cancel()` was called. It walks up from the root, link by link, and
/// takes effect where the chain stands: it fails a source, detaches a consumer, or marks one that is about to be
/// notified. If it meets a callback or a canceller that runs, it stays there, and begins again at its root when that
/// has ended. Until it takes effect, its root receives no outcome but `CancellationError`.
extension Model {
    func cancel(_ handle: Handle) {
        finishWaitingAbandonments()
        inDrainLoop { cancel([handle.node], in: $0) }
    }

    /// Cancels several Deferreds, none of which receives an outcome because another was cancelled first (C7).
    func cancel(_ roots: [Node], in loop: DrainLoop) {
        let paths = roots.count > 1 ? roots.map(path) : []
        for node in paths.joined() { node.heldByCancels += 1 }
        for root in roots where root.outcome == nil { root.isCancelRequested = true }
        for (index, root) in roots.enumerated() {
            if index > 0 { pass() }
            if !paths.isEmpty { for node in paths[index] { node.heldByCancels -= 1 } }
            request(root, in: loop)
        }
    }

    /// Returns `root` and the links above it that a cancel of it fails.
    private func path(from root: Node) -> [Node] {
        var path = [root]
        while case .waiting(let upstream) = path[path.count - 1].state, upstream.outcome == nil,
            !path[path.count - 1].isShield, upstream.attached.count == 1
        {
            path.append(upstream)
        }
        return path
    }

    /// Walks up from `root` until the request takes effect, or can stay with what runs.
    func request(_ root: Node, in loop: DrainLoop) {
        var node = root
        while root.outcome == nil, root.isCancelRequested {
            switch node.state {
            case .settled:
                // A follower that has been detached meanwhile.
                root.isCancelRequested = false
            case .running:
                return leave(root, in: node)
            case .dispatched:
                node.cancelIsPending = true
                root.isCancelRequested = false
            case .source:
                return cancelSource(node, root, in: loop)
            case .waiting(let upstream):
                if upstream.outcome != nil, !node.isShield {
                    root.isCancelRequested = false
                    failBeforeDequeued(node, upstream, in: loop)
                } else if node.isShield || upstream.attached.contains(where: { $0 !== node }) {
                    // A shield stays attached, and remains a consumer.
                    if !node.isShield { upstream.attached.removeAll { $0 === node } }
                    root.isCancelRequested = false
                    return failDetached(node, in: loop)
                } else {
                    node = upstream
                    pass()
                    if node.outcome != nil { node = root }
                }
            }
        }
    }

    /// C5: a link that has not been dequeued receives the error when it is, or at once.
    private func failBeforeDequeued(_ node: Node, _ upstream: Node, in loop: DrainLoop) {
        if choose(2) == 0 {
            node.cancelIsPending = true
        } else {
            upstream.attached.removeAll { $0 === node }
            failDetached(node, in: loop)
        }
    }

    /// Notifies a link of the error that nothing upstream notifies any more.
    private func failDetached(_ node: Node, in loop: DrainLoop) {
        node.state = .running
        pass()
        _ = deliver(node, .failure(.cancelled), from: Model.nowhere, in: loop)
    }

    private static var nowhere: Node { Node(0, .settled) }

    private func leave(_ root: Node, in node: Node) {
        if !node.requests.contains(where: { $0 === root }) { node.requests.append(root) }
    }

    /// Takes the requests out of a node in which they wait. They have no effect any more.
    func endRequests(in node: Node) {
        for root in node.requests { root.isCancelRequested = false }
        node.requests = []
    }

    /// Begins each request anew that waited in `node`, in place of `operation` if that was a cancel of `node` itself.
    func repeatRequests(in node: Node, _ loop: DrainLoop) {
        let roots = node.requests
        node.requests = []
        for root in roots {
            if root === node, node.outcome != nil {
                root.isCancelRequested = false
            } else {
                pass()
                request(root, in: loop)
            }
        }
    }

    /// Fails a node that nothing completes any more; a cancel that meets it counts (C5).
    func fail(_ node: Node, _ fault: Fault, in loop: DrainLoop) {
        let isCancelled = !node.requests.isEmpty
        if isCancelled { leaveOpen(.cycleBelowCancel, "cancelled, and \(fault)") }
        endRequests(in: node)
        settle(node, .failure(isCancelled ? .cancelled : fault), [], in: loop)
    }

    private func cancelSource(_ node: Node, _ root: Node, in loop: DrainLoop) {
        if node.isInCanceller, node.cancellerThread == currentThread() {
            root.isCancelRequested = false
            return
        }
        leave(root, in: node)
        if node.isInCanceller { return }
        if let list = node.list {
            node.isCancelled = true
            endRequests(in: node)
            settle(node, .failure(.cancelled), [], in: loop)
            loop.queue.append(.cancelInputs(list))
            return
        }
        if !node.isCancelled { runCanceller(of: node) }
        guard node.outcome == nil else { return }
        if node.following.isEmpty {
            endRequests(in: node)
            settle(node, .failure(.cancelled), [], in: loop)
        } else {
            if node.following.count > 1 { leaveOpen(.followersOfOne, "cancelled while it follows two") }
            cancel(node.following, in: loop)
        }
    }

    private func runCanceller(of node: Node) {
        node.isCancelled = true
        node.dropsLateResult = true
        guard let canceller = node.canceller else { return }
        node.canceller = nil
        node.isInCanceller = true
        node.cancellerThread = currentThread()
        let followed = node.following.count
        canceller(Trigger(self, node, counts: false))
        pass()
        node.isInCanceller = false
        if node.following.count > followed {
            undetermined = "a canceller made its Deferred follow another"
        }
    }

    /// Completes a source. What its canceller brings about answers the cancels that wait there (C1); another outcome
    /// leaves them to take effect below it (C5).
    func complete(
        _ node: Node, _ outcome: ModelOutcome, _ scopes: [Scope] = [], isAnswer: Bool, in loop: DrainLoop
    ) {
        if isAnswer { endRequests(in: node) }
        if !node.requests.isEmpty { leaveOpen(.passedSource, "completed after a cancel has passed") }
        settle(node, outcome, scopes, in: loop)
        repeatRequests(in: node, loop)
    }

    /// Stops waiting. It will not be notified.
    func detach(_ consumer: Node) {
        guard case .waiting(let upstream) = consumer.state else { return }
        consumer.state = .settled
        consumer.work = .nothing
        if upstream.outcome == nil {
            upstream.attached.removeAll { $0 === consumer }
        }
    }

    /// D3, D4.
    func cancelInputs(of list: List, in loop: DrainLoop) {
        if list.node.pauses > 0 && !list.node.attached.isEmpty && list.options.cancelsRemaining {
            undetermined = "\"once settled, and its own callbacks have run\": a pause suspends those"
        }
        let observers = list.observers
        list.observers = []
        var seen: [Node] = []
        var roots: [Node] = []
        for observer in observers {
            guard case .waiting(let input) = observer.state, input.outcome == nil else { continue }
            if seen.contains(where: { $0 === input }) {
                detach(observer)
            } else {
                seen.append(input)
                roots.append(observer)
            }
        }
        cancel(roots, in: loop)
    }
}
