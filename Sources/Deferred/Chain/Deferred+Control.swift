extension Deferred {
    /// Cancels what this Deferred waits for, unless something else consumes that too.
    ///
    /// - A pending source runs its canceller, once. If that does not complete the source, the source fails
    ///   with `CancellationError`.
    /// - A link cancels what it waits for, directly or nested, if nothing else consumes that, and so on up to
    ///   the source. The error then passes down the chain. If there are other consumers, they continue
    ///   undisturbed, and this link alone receives `CancellationError`, as if from upstream.
    /// - A settled Deferred stays as it is. A running callback is allowed to finish; a pending Deferred that
    ///   it returns is cancelled at once.
    ///
    /// A failure of what was cancelled, such as an error with which a canceller rejects its Deferred, is never
    /// reported as unhandled. One that a closure throws is: an errback on receiving that, or a callback on receiving
    /// the value with which a canceller resolved its Deferred.
    ///
    /// A *consumer* of a Deferred is anything attached to it and not settled: a callback, an `await`, a list,
    /// a chain that waits for it. Cancellers and errbacks run on this thread, unless they are for the main actor or
    /// name a dispatcher. Safe from any thread; a second cancel does nothing.
    ///
    /// - Complexity: O(*n*), where *n* is the number of links up to what is cancelled, and of those that its
    ///   error then reaches.
    public func cancel() { link.cancel() }

    /// Suspends the notification of everything attached to this Deferred until ``unpause(fileID:line:)``.
    ///
    /// The Deferred may still be completed, and `currentResult` shows the outcome, but callbacks, awaits,
    /// lists and chains that wait for it are not notified. A pause from inside a running callback takes
    /// effect from the next callback on. What is upstream continues to run. Pauses nest. When the last handle
    /// to this Deferred is released, it counts as unpaused.
    public func pause() { link.pause() }

    /// Undoes one ``pause()``. The last call notifies what is attached, on this thread, before it returns.
    ///
    /// A call without a matching pause is ignored, and reported as
    /// ``DeferredDiagnostic/unbalancedUnpause(made:at:)``.
    ///
    /// - Complexity: O(*n*), where *n* is the number of consumers that are notified, with what follows from
    ///   them.
    public func unpause(fileID: StaticString = #fileID, line: UInt = #line) {
        link.unpause(DeferredDiagnostic.Location(fileID: fileID, line: line))
    }

    /// Returns a Deferred with the same outcome, whose `cancel()` never reaches this one.
    ///
    /// A cancelled shield fails with `CancellationError` at once. It remains a consumer of this Deferred
    /// until that is settled, so that cancels by other consumers do not end what is shielded.
    public func shielded(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred<Value> {
        Deferred(link.shielded(DeferredDiagnostic.Location(.shielded, fileID, line)))
    }
}

extension Deferred {
    /// Adds `finalizer`, which runs once, after this Deferred is settled and everything that follows from
    /// that has finished; returns this same handle.
    ///
    /// What follows is every callback attached by then, and everything downstream of those: nested Deferreds
    /// that they wait for, callbacks submitted to dispatchers or suspended by a pause, chains that wait for
    /// this Deferred, lists that it completes. The finalizer runs on success, failure, cancellation and
    /// abandonment alike, whether it is added before or after those callbacks, and no matter who retains
    /// handles.
    ///
    /// Several finalizers of one Deferred run latest added first, as `defer` blocks do, and one further
    /// downstream runs before one upstream; what comes after one on a dispatcher waits until that has run. Added to a
    /// settled Deferred, a finalizer runs at once.
    ///
    /// ```swift
    /// connection.open()
    ///     .then { connection.request("/") }
    ///     .finally { _ in connection.close() }   // after the request, whatever becomes of it
    /// ```
    ///
    /// Add it at the end of the chain, as here. Added to `open()` itself, it would run at once if that is
    /// settled already, and the request would find the connection closed.
    ///
    /// - Parameters:
    ///   - dispatcher: Where it runs; `nil` for the thread on which the last of what follows finishes. If a
    ///     dispatcher releases the finalizer without running it, the finalizer runs where it is released.
    ///   - finalizer: Receives the outcome, and handles nothing: a failure still counts as unhandled.
    @discardableResult
    @inlinable
    public func finally(
        on dispatcher: (any Dispatcher)? = nil,
        _ finalizer: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) -> Deferred<Value> {
        link.addFinalizer(dispatcher) { outcome in
            finalizer(outcome.resultPassedOn())
        }
        return self
    }
}
