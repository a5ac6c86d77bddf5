/// A Task that awaits a Deferred, without the Task: the engine's part of `await deferred.value`. As the runtime does
/// with the handler of a cancellation, it cancels once: on the thread of the first `cancel()`, or in `start`.
package final class AwaitProbe: Sendable {
    private let state = SpinLocked<(awaiting: Link?, isCancelled: Bool)>((nil, false))

    package init() {}

    /// Begins to wait. `resumed` is called when the Task would go on: with true if it has the outcome, with
    /// false if it was cancelled.
    package func start<Value>(_ deferred: Deferred<Value>, _ resumed: @escaping (Bool) -> Void) {
        let site = DeferredDiagnostic.Location(.awaiting, #fileID, #line)
        let awaiting = deferred.link.attach(.awaiting(nil), site)
        let isCancelled = state.withLock { state in
            state.awaiting = awaiting
            return state.isCancelled
        }
        if isCancelled { awaiting.cancelAwait() }
        awaiting.suspendAwait(Continuations.make { _ in resumed(!awaiting.isAwaitCancelled) })
    }

    /// Read by the Task when it is resumed with the outcome.
    package func outcome<Value: Sendable>(as: Value.Type) -> Result<Value, any Error> {
        state.withLock { $0.awaiting }.map { $0.payload.result() } ?? .failure(CancellationError())
    }

    /// Cancels the Task.
    package func cancel() {
        let awaiting = state.withLock { state in
            let awaiting = state.isCancelled ? nil : state.awaiting
            state.isCancelled = true
            return awaiting
        }
        awaiting?.cancelAwait()
    }
}

extension AwaitProbe {
    /// Clears the continuations of a run that has ended.
    package static func forgetAll() { Continuations.forgetAll() }
}
