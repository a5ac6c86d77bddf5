/// Callbacks that receive either outcome (Twisted's `addBoth`).
///
/// Each of these functions attaches a closure that runs with a `Result`, and returns the next position in the
/// chain. They differ in what the closure returns: a value (``mapResult(on:_:fileID:line:)``), a Deferred
/// (``thenResult(on:_:fileID:line:)``) or nothing (``both(on:_:fileID:line:)``).
/// ``always(on:_:fileID:line:)`` passes the outcome on.
///
/// - **Where the closure runs.** `on:` names a ``Dispatcher``. With `nil` the closure runs at once: on the
///   completing thread, or before the attaching call returns if this Deferred is settled.
/// - **Task-local values.** Those of the code that runs the closure, or of the attaching call: <doc:TaskLocals>.
/// - **Errors.** A closure that returns makes the new link succeed; what it throws fails the new link.
/// - **Cancellation.** If the new link is cancelled before its closure runs, the closure runs with
///   `CancellationError`.
extension Deferred {
    /// Attaches `callback`, which receives either outcome, and returns a Deferred with the value that it
    /// returns.
    ///
    /// ```swift
    /// let isThere = fetchPage().mapResult { result in (try? result.get()) != nil }
    /// ```
    ///
    /// - Parameters:
    ///   - dispatcher: Where `callback` runs. `nil`: at once, on the completing thread, or before `mapResult` returns
    ///     if this Deferred is settled.
    ///   - callback: Receives the value or the error. An error that it throws fails the returned Deferred. If the
    ///     returned Deferred is cancelled first, it runs with `CancellationError`.
    @_alwaysEmitIntoClient
    @inline(__always)
    public func mapResult<U: Sendable>(
        on dispatcher: (any Dispatcher)? = nil,
        _ callback: @escaping @Sendable (Result<Value, any Error>) throws -> U,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        attach(dispatcher, DeferredDiagnostic.Location(.mapResult, fileID, line), ValueClosure(callback)) {
            callback, input in
            .catching { try callback.closure(input.result()) }
        }
    }

    /// Attaches `callback`, which receives either outcome and returns a Deferred, and returns a Deferred with
    /// that one's outcome.
    ///
    /// The chain waits for the nested Deferred; see ``then(on:_:fileID:line:)``.
    ///
    /// - Parameters:
    ///   - dispatcher: Where `callback` runs. `nil`: at once, on the completing thread, or before `thenResult`
    ///     returns if this Deferred is settled.
    ///   - callback: Receives the value or the error. An error that it throws fails the returned Deferred. If the
    ///     returned Deferred is cancelled first, it runs with `CancellationError`.
    @_alwaysEmitIntoClient
    @inline(__always)
    public func thenResult<R: DeferredConvertible>(
        on dispatcher: (any Dispatcher)? = nil,
        _ callback: @escaping @Sendable (Result<Value, any Error>) throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        attach(dispatcher, DeferredDiagnostic.Location(.thenResult, fileID, line), ValueClosure(callback)) {
            callback, input in
            .nesting { try callback.closure(input.result()) }
        }
    }

    /// Attaches `callback`, which receives either outcome and returns nothing, and returns a Deferred that is
    /// resolved when it has run.
    ///
    /// It may end a chain. A failure counts as handled.
    ///
    /// ```swift
    /// fetchPage().both { result in completionHandler(result) }
    /// ```
    ///
    /// - Parameters:
    ///   - dispatcher: Where `callback` runs. `nil`: at once, on the completing thread, or before `both` returns if
    ///     this Deferred is settled.
    ///   - callback: Receives the value or the error. An error that it throws fails the returned Deferred. If the
    ///     returned Deferred is cancelled first, it runs with `CancellationError`.
    @_alwaysEmitIntoClient
    @inline(__always)
    @discardableResult
    public func both(
        on dispatcher: (any Dispatcher)? = nil,
        _ callback: @escaping @Sendable (Result<Value, any Error>) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        attach(dispatcher, DeferredDiagnostic.Location(.both, fileID, line), VoidClosure(callback)) {
            callback, input in
            .catching { try callback.closure(input.result()) }
        }
    }

    /// Attaches `callback`, which receives either outcome, and returns a Deferred with that same outcome.
    ///
    /// `callback` runs at its position in the chain, before anything attached to the returned Deferred
    /// (PromiseKit's `ensure`, NIO's `always`). A ``finally(on:_:)`` runs later, when everything downstream is
    /// done. A failure does not count as handled.
    ///
    /// ```swift
    /// let page = fetchPage()
    ///     .always(on: .main) { _ in spinner.stop() }
    ///     .map { $0.count }
    /// ```
    ///
    /// - Parameters:
    ///   - dispatcher: Where `callback` runs. `nil`: at once, on the completing thread, or before `always` returns if
    ///     this Deferred is settled.
    ///   - callback: Receives the value or the error. An error that it throws replaces the outcome. If the returned
    ///     Deferred is cancelled first, it runs with `CancellationError`.
    @_alwaysEmitIntoClient
    @inline(__always)
    @discardableResult
    public func always(
        on dispatcher: (any Dispatcher)? = nil,
        _ callback: @escaping @Sendable (Result<Value, any Error>) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        attach(dispatcher, DeferredDiagnostic.Location(.always, fileID, line), VoidClosure(callback)) {
            callback, input in
            do { try callback.closure(input.resultPassedOn()) } catch { return .failure(error) }
            return input.copy()
        }
    }
}
