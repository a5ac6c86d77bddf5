/// A Task that awaits a Deferred, without the Task: the engine's part of `await deferred.value`.
package final class AwaitProbe {
    private let awaiting = Link(.waiting, .none, DeferredDiagnostic.Location(.awaiting, #fileID, #line))

    package init() {}

    /// Begins to wait. `resumed` is called when the Task would go on: with true if it has the outcome, with
    /// false if it was cancelled.
    package func start<Value>(_ deferred: Deferred<Value>, _ resumed: @escaping (Bool) -> Void) {
        let continuation: UnsafeContinuation<Void, Never> = Continuations.make { [awaiting] _ in
            resumed(!awaiting.isAwaitCancelled)
        }
        deferred.link.attach(awaiting, resuming: continuation)
    }

    /// Read by the Task when it is resumed with the outcome.
    package func outcome<Value: Sendable>(as: Value.Type) -> Result<Value, any Error> {
        awaiting.payload.result()
    }

    /// Cancels the Task.
    package func cancel() { awaiting.cancelAwait() }
}

extension AwaitProbe {
    /// Clears the continuations of a run that has ended.
    package static func forgetAll() { Continuations.forgetAll() }
}
