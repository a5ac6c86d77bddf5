internal import Synchronization

/// A Task that awaits a Deferred, without the Task: the engine's part of `await deferred.value`. As the runtime does
/// with the handler of a cancellation, it cancels once: on the thread of the first `cancel()`, or in `start`.
package final class AwaitProbe {
    private let awaiting = Link(.waiting, .none, DeferredDiagnostic.Location(.awaiting, #fileID, #line))

    /// 1 from when the Task waits, 2 from when it was cancelled.
    private let state = Atomic<Int>(0)

    package init() {}

    /// Begins to wait. `resumed` is called when the Task would go on: with true if it has the outcome, with
    /// false if it was cancelled.
    package func start<Value>(_ deferred: Deferred<Value>, _ resumed: @escaping (Bool) -> Void) {
        let continuation: UnsafeContinuation<Void, Never> = Continuations.make { [awaiting] _ in
            resumed(!awaiting.isAwaitCancelled)
        }
        if !state.compareExchange(expected: 0, desired: 1, ordering: .sequentiallyConsistent).exchanged {
            awaiting.cancelAwait()
        }
        deferred.link.attach(awaiting, resuming: continuation)
    }

    /// Read by the Task when it is resumed with the outcome.
    package func outcome<Value: Sendable>(as: Value.Type) -> Result<Value, any Error> {
        awaiting.payload.result()
    }

    /// Cancels the Task.
    package func cancel() {
        if state.exchange(2, ordering: .sequentiallyConsistent) == 1 { awaiting.cancelAwait() }
    }
}

extension AwaitProbe {
    /// Clears the continuations of a run that has ended.
    package static func forgetAll() { Continuations.forgetAll() }
}
