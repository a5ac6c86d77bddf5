/// Callbacks, which receive the value.
///
/// Each of these functions attaches a closure and returns the next position in the chain. They differ in what
/// the closure returns: a value (``map(on:_:fileID:line:)``), a Deferred (``then(on:_:fileID:line:)``) or
/// nothing (``done(on:_:fileID:line:)``).
///
/// - **Where the closure runs.** `on:` names a ``Dispatcher``. With `nil` the closure runs at once: on the
///   completing thread, or before the attaching call returns if this Deferred is settled.
/// - **Task-local values.** Those of the code that runs the closure, or of the attaching call: <doc:TaskLocals>.
/// - **Errors.** A failure bypasses the closure unchanged. What the closure throws fails the new link.
/// - **Cancellation.** If the new link is cancelled before its closure runs, the closure does not run and the
///   link fails with `CancellationError`.
extension Deferred {
    /// Attaches `callback` and returns a Deferred with the value that it returns.
    ///
    /// ```swift
    /// let length = page.map { $0.count }
    /// ```
    ///
    /// For a callback that returns a Deferred use `then`, which waits for it: with `map` its outcome is not waited
    /// for, and the compiler does not object unless a later step uses the value.
    ///
    /// - Parameters:
    ///   - dispatcher: Where `callback` runs. `nil`: at once, on the completing thread, or before `map` returns if this
    ///     Deferred is settled.
    ///   - callback: Receives the value. An error that it throws fails the returned Deferred. A failure bypasses it.
    ///     If the returned Deferred is cancelled first, it does not run.
    @_alwaysEmitIntoClient
    @inline(__always)
    public func map<U: Sendable>(
        on dispatcher: (any Dispatcher)? = nil, _ callback: @escaping @Sendable (Value) throws -> U,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        attach(dispatcher, DeferredDiagnostic.Location(.map, fileID, line), ValueClosure(callback)) {
            callback, input in
            if input.isFailure { return input.copy() }
            return .catching { try callback.closure(input.value()) }
        }
    }

    /// Attaches `callback`, which returns a Deferred, and returns a Deferred with that one's outcome.
    ///
    /// The chain waits for the nested Deferred, which keeps its value for others. Cancelling the returned
    /// Deferred while it waits cancels the nested one, if nothing else consumes that.
    ///
    /// ```swift
    /// let page = session.then { fetchPage(for: $0) }
    /// ```
    ///
    /// - Parameters:
    ///   - dispatcher: Where `callback` runs. `nil`: at once, on the completing thread, or before `then` returns if
    ///     this Deferred is settled.
    ///   - callback: Receives the value and returns a Deferred, or another ``DeferredConvertible``. An error that it
    ///     throws fails the returned Deferred. A failure bypasses it. If the returned Deferred is cancelled first, it
    ///     does not run.
    @_alwaysEmitIntoClient
    @inline(__always)
    public func then<R: DeferredConvertible>(
        on dispatcher: (any Dispatcher)? = nil, _ callback: @escaping @Sendable (Value) throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        attach(dispatcher, DeferredDiagnostic.Location(.then, fileID, line), ValueClosure(callback)) {
            callback, input in
            if input.isFailure { return input.copy() }
            return .nesting { try callback.closure(input.value()) }
        }
    }

    /// Attaches `callback`, which returns nothing, and returns a Deferred that is resolved when it has run.
    ///
    /// It may end a chain: a failure that nothing handles is reported.
    ///
    /// ```swift
    /// page.done(on: .main) { show($0) }
    /// ```
    ///
    /// - Parameters:
    ///   - dispatcher: Where `callback` runs. `nil`: at once, on the completing thread, or before `done` returns if
    ///     this Deferred is settled.
    ///   - callback: Receives the value. An error that it throws fails the returned Deferred. A failure bypasses it.
    ///     If the returned Deferred is cancelled first, it does not run.
    @_alwaysEmitIntoClient
    @inline(__always)
    @discardableResult
    public func done(
        on dispatcher: (any Dispatcher)? = nil, _ callback: @escaping @Sendable (Value) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        attach(dispatcher, DeferredDiagnostic.Location(.done, fileID, line), VoidClosure(callback)) {
            callback, input in
            if input.isFailure { return input.copy() }
            return .catching { try callback.closure(input.value()) }
        }
    }

    /// Returns a Deferred that is resolved with `value` when this one is resolved, and fails as this one does.
    ///
    /// ```swift
    /// let user = saved.thenReturn(user)
    /// ```
    @_alwaysEmitIntoClient
    @inline(__always)
    public func thenReturn<U: Sendable>(
        _ value: U, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        map({ _ in value }, fileID: fileID, line: line)
    }
}
