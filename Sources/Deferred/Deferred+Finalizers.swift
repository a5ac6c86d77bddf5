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
    /// downstream runs before one upstream. Added to a settled Deferred, a finalizer runs at once.
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
    ///     dispatcher
    ///     releases the finalizer without running it, the finalizer runs where it is released.
    ///   - finalizer: Receives the outcome, and handles nothing: a failure still counts as unhandled.
    @discardableResult
    @inlinable
    public func finally(
        on dispatcher: (any Dispatcher)? = nil,
        _ finalizer: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) -> Deferred<Value> {
        link.addFinalizer(dispatcher) { outcome in
            finalizer(outcome.result())
        }
        return self
    }
}
