/// A Task that awaits a Deferred, without the Task: the engine's part of `await deferred.value`. As the runtime does
/// with the handler of a cancellation, it cancels once: on the thread of the first `cancel()`, or in `start`.
package final class AwaitProbe: Sendable {
    private let awaiting = Link(
        .waiting, .awaiting(nil), DeferredDiagnostic.Location(.awaiting, #fileID, #line))
    private let state = SpinLocked((didStart: false, isCancelled: false))

    package init() {}

    /// Begins to wait. `resumed` is called when the Task would go on: with true if it has the outcome, with
    /// false if it was cancelled.
    package func start<Value>(_ deferred: Deferred<Value>, _ resumed: @escaping (Bool) -> Void) {
        let continuation: UnsafeContinuation<Void, Never> = Continuations.make { [awaiting] _ in
            resumed(!awaiting.isAwaitCancelled)
        }
        let isCancelled = state.withLock { state in
            state.didStart = true
            return state.isCancelled
        }
        if isCancelled { awaiting.cancelAwait() }
        deferred.link.suspend(awaiting, continuation)
    }

    /// Read by the Task when it is resumed with the outcome.
    package func outcome<Value: Sendable>(as: Value.Type) -> Result<Value, any Error> {
        awaiting.payload.result()
    }

    /// Cancels the Task.
    package func cancel() {
        let isFirst = state.withLock { state in
            let isFirst = state.didStart && !state.isCancelled
            state.isCancelled = true
            return isFirst
        }
        if isFirst { awaiting.cancelAwait() }
    }
}

extension AwaitProbe {
    /// Clears the continuations of a run that has ended.
    package static func forgetAll() { Continuations.forgetAll() }
}
