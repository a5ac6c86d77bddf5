/// A1: an abandonment that causes another.
extension Model {
    /// The limit for nested abandonments. Deeper ones wait until the deepest is done, or until the callback
    /// that causes them cancels or waits for something.
    private static let greatestDepth = 16

    func abandon(_ node: Node) {
        // Not to be reported in itself (U1).
        node.isHandled = true
        begin(node)
        // A cancel that comes now waits for its end.
        pass()
        guard abandonmentDepth < Model.greatestDepth else { return waitingAbandonments.append(node) }
        abandonmentDepth += 1
        inDrainLoop { fail(node, .abandoned, in: $0) }
        if abandonmentDepth == Model.greatestDepth { finishAll() }
        abandonmentDepth -= 1
    }

    func finishWaitingAbandonments() {
        guard !waitingAbandonments.isEmpty, abandonmentDepth < 2 * Model.greatestDepth else { return }
        abandonmentDepth += 1
        finishAll()
        abandonmentDepth -= 1
    }

    private func finishAll() {
        while let node = waitingAbandonments.popLast() {
            inDrainLoop { fail(node, .abandoned, in: $0) }
        }
    }
}
