/// C1-C5.
extension Model {
    func cancel(_ handle: Handle) {
        inFrame { cancel(handle.node, in: $0) }
    }

    func cancel(_ node: Node, in frame: Frame) {
        switch node.state {
        case .settled:
            break
        case .handedOver, .running:
            node.cancelIsPending = true
        case .source:
            cancelSource(node, in: frame)
        case .waiting(let upstream):
            if node.isShield {
                // It stays attached, and so a consumer.
                _ = give(node, .failure(.cancelled), from: Model.nowhere, in: frame)
            } else if upstream.outcome != nil {
                // Its turn has not come: at its turn or at once, says C5.
                node.cancelIsPending = true
            } else if upstream.attached.contains(where: { $0 !== node }) {
                upstream.attached.removeAll { $0 === node }
                _ = give(node, .failure(.cancelled), from: Model.nowhere, in: frame)
            } else {
                if case .running = upstream.state { node.cancelIsPending = true }
                cancel(upstream, in: frame)
            }
        }
    }

    private static var nowhere: Node { Node(0, .settled) }

    private func cancelSource(_ node: Node, in frame: Frame) {
        if node.isInCanceller { return }
        if let list = node.list {
            node.isCancelled = true
            settle(node, .failure(.cancelled), [], in: frame)
            frame.queue.append(.cancelInputs(list))
            return
        }
        if !node.isCancelled {
            node.isCancelled = true
            node.swallowsLateResult = true
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
            cancel(follower, in: frame)
        } else {
            settle(node, .failure(.cancelled), [], in: frame)
        }
    }

    /// No longer waits, and is not told.
    func withdraw(_ consumer: Node) {
        guard case .waiting(let upstream) = consumer.state else { return }
        consumer.state = .settled
        consumer.work = .nothing
        if upstream.outcome == nil {
            upstream.attached.removeAll { $0 === consumer }
        }
    }

    /// D3, D4.
    func cancelInputs(of list: List, in frame: Frame) {
        if list.node.pauses > 0 && !list.node.attached.isEmpty && list.options.cancelsRemaining {
            undetermined = "\"once fired, and its own callbacks run\": a pause holds those"
        }
        let watches = list.watches
        list.watches = []
        var seen: [Node] = []
        for watch in watches {
            guard case .waiting(let input) = watch.state, input.outcome == nil else { continue }
            if seen.contains(where: { $0 === input }) { withdraw(watch) } else { seen.append(input) }
        }
        for watch in watches {
            guard case .waiting(let input) = watch.state, input.outcome == nil else { continue }
            cancel(watch, in: frame)
        }
    }
}
