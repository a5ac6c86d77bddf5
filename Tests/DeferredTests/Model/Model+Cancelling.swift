/// C1-C5.
extension Model {
    func cancel(_ handle: Handle) {
        finishWaitingAbandonments()
        inDrainLoop { cancel(handle.node, in: $0) }
    }

    func cancel(_ node: Node, in loop: DrainLoop) {
        switch node.state {
        case .settled:
            break
        case .dispatched, .running:
            node.cancelIsPending = true
        case .source:
            cancelSource(node, in: loop)
        case .waiting(let upstream):
            if node.isShield {
                // It stays attached, and remains a consumer.
                _ = deliver(node, .failure(.cancelled), from: Model.nowhere, in: loop)
            } else if upstream.outcome != nil {
                // It has not been dequeued: when it is, or at once, says C5.
                node.cancelIsPending = true
            } else if upstream.attached.contains(where: { $0 !== node }) {
                upstream.attached.removeAll { $0 === node }
                _ = deliver(node, .failure(.cancelled), from: Model.nowhere, in: loop)
            } else {
                if case .running = upstream.state { node.cancelIsPending = true }
                cancel(upstream, in: loop)
            }
        }
    }

    private static var nowhere: Node { Node(0, .settled) }

    private func cancelSource(_ node: Node, in loop: DrainLoop) {
        if node.isInCanceller { return }
        if let list = node.list {
            node.isCancelled = true
            settle(node, .failure(.cancelled), [], in: loop)
            loop.queue.append(.cancelInputs(list))
            return
        }
        if !node.isCancelled {
            node.isCancelled = true
            node.dropsLateResult = true
            if let canceller = node.canceller {
                node.canceller = nil
                node.isInCanceller = true
                let followed = node.following.count
                canceller(Trigger(self, node, counts: false))
                node.isInCanceller = false
                if node.following.count > followed {
                    undetermined = "a canceller made its Deferred follow another"
                }
            }
        }
        guard node.outcome == nil else { return }
        if node.following.count > 1 { undetermined = "cancelled while it follows two" }
        if let follower = node.following.first {
            cancel(follower, in: loop)
        } else {
            settle(node, .failure(.cancelled), [], in: loop)
        }
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
        for observer in observers {
            guard case .waiting(let input) = observer.state, input.outcome == nil else { continue }
            if seen.contains(where: { $0 === input }) { detach(observer) } else { seen.append(input) }
        }
        for observer in observers {
            guard case .waiting(let input) = observer.state, input.outcome == nil else { continue }
            cancel(observer, in: loop)
        }
    }
}
