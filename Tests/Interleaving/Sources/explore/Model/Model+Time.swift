/// `timeout`: an expiry acts as a cancel of that position, and turns the cancellation into another error.
extension Model {
    final class TimeLimit {
        var node: Node?
        /// Those that are set while the time passes are due later.
        var isDue = false
        var hasExpired = false
        var isStopped = false
    }

    func timeout(_ id: Int, _ handle: Handle) -> Handle {
        let isInTime = handle.node.outcome != nil
        let timer = TimeLimit()
        let position = attach(
            id, to: handle, Callback(form: .both),
            { [self] outcome in
                pass()
                timer.isStopped = true
                return timer.hasExpired && outcome.isCancelled ? .outcome(.failure(.other)) : .unchanged
            }, atEnd: nil)
        pass()
        timer.node = position.node
        if !isInTime && !timer.isStopped { timers.append(timer) }
        return position
    }

    func expire() {
        for timer in timers { timer.isDue = true }
        pass()
        while let index = timers.firstIndex(where: { $0.isDue }) {
            let timer = timers.remove(at: index)
            pass()
            guard !timer.isStopped, let node = timer.node, !isBeingCancelled(node) else { continue }
            timer.hasExpired = true
            pass()
            inDrainLoop { cancel([node], in: $0) }
        }
    }

    /// Whether another cancel is what will end it: the time limit then comes too late (C5).
    private func isBeingCancelled(_ start: Node) -> Bool {
        var next: Node? = start
        while let node = next {
            let hasRequests = node.requests.contains { $0 !== node }
            let isFound =
                switch node.state {
                case .waiting, .dispatched: node.cancelIsPending || node.isCancelRequested
                case .running: hasRequests
                case .source: hasRequests || node.isBeingCancelled
                // What a pause holds back is not on its way.
                case .settled: node.outcome?.isCancelled ?? false && !isHeldBack(by: node)
                case .detached: true
                }
            if isFound { return true }
            next = node.upstream
        }
        return false
    }
}
