extension Deferred {
    /// Runs `finalizer` once, when this Deferred has fired and all that follows from that has settled; gives
    /// back this same handle.
    ///
    /// "All that follows" is every callback attached by then, and everything downstream of them: nested
    /// Deferreds that they wait for, callbacks handed to dispatchers or held by a pause, chains that wait for
    /// this one, lists that it completes. On success, failure, cancel and abandonment alike. It does not
    /// matter whether it is added before or after those callbacks, nor who still holds handles.
    ///
    /// Several on one Deferred run latest added first, as `defer` does, and one further downstream runs
    /// before one upstream. Added to a Deferred that has fired, it runs at once.
    ///
    /// ```swift
    /// connection.open()
    ///     .then { connection.request("/") }
    ///     .finally { _ in connection.close() }   // after the request, whatever becomes of it
    /// ```
    ///
    /// At the end, as here, it is never too early. Before what it is to wait for it may stand only on a
    /// Deferred that is still pending: on an `open()` that has fired it would run at once, and the request
    /// find the connection closed.
    ///
    /// - Parameter dispatcher: Where it runs. Without, on the thread on which the last of what follows has
    ///   settled. A dispatcher that lets go of it without running it runs it there and then: a finalizer is
    ///   not lost.
    /// - Parameter finalizer: Sees the outcome, and handles nothing: a failure still counts as unhandled.
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

extension Link {
    @usableFromInline
    func addFinalizer(_ dispatcher: (any Dispatcher)?, _ finalizer: @escaping Finalizer) {
        let finalizer = Recording.isOn ? Recording.noting(finalizer, of: self) : finalizer
        let added: Finalizer =
            if let dispatcher {
                { outcome in
                    let work = FinalizerWork(finalizer, outcome.copy())
                    dispatcher.dispatch { work.run() }
                }
            } else {
                finalizer
            }
        let rare = ensureRare()
        let word = lock()
        guard word & Word.settled == 0 else {
            unlock(word)
            return added(content)
        }
        rare.finalizers.append(added)
        unlock(word)
    }
}

/// A finalizer on its way to a dispatcher: runs once, at the latest when the dispatcher lets go of it.
private final class FinalizerWork: Sendable {
    private let once: Guarded<Finalizer?>
    private let outcome: Link.Content

    init(_ finalizer: @escaping Finalizer, _ outcome: consuming Link.Content) {
        once = Guarded(finalizer)
        self.outcome = outcome
    }

    func run() {
        let finalizer = once.withLock { $0.take() }
        finalizer?(outcome)
    }

    deinit { run() }
}
