/// A callback and an errback side by side (Twisted's `addCallbacks`), of which exactly one runs.
///
/// The errback does not receive what its sibling throws; that fails the new link.
///
/// - **Where the closure runs.** `on:` names a ``Dispatcher``. With `nil` the closure runs at once: on the
///   completing thread, or before the attaching call returns if this Deferred is settled.
/// - **Task-local values.** Those of the code that runs the closure, or of the attaching call: <doc:TaskLocals>.
/// - **Cancellation.** If the new link is cancelled before a closure runs, the errback runs with
///   `CancellationError`.
extension Deferred {
    /// Attaches `callback` for the value and `errback` for the error, and returns a Deferred with the value
    /// that the one that runs returns.
    ///
    /// ```swift
    /// let text = fetchPage().map { "\($0.count) characters" } recover: { "no page: \($0)" }
    /// ```
    ///
    /// - Parameters:
    ///   - dispatcher: Where the closure runs. `nil`: at once, on the completing thread, or before `map` returns if
    ///     this Deferred is settled.
    ///   - callback: Receives the value. An error that it throws fails the returned Deferred.
    ///   - errback: Receives the error. An error that it throws fails the returned Deferred. If the returned Deferred
    ///     is cancelled first, it runs with `CancellationError`.
    @_alwaysEmitIntoClient
    @inline(__always)
    public func map<U: Sendable>(
        on dispatcher: (any Dispatcher)? = nil, _ callback: @escaping @Sendable (Value) throws -> U,
        recover errback: @escaping @Sendable (any Error) throws -> U, fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<U> {
        attach(dispatcher, DeferredDiagnostic.Location(.pair, fileID, line)) { input in
            if let error = input.error { return .catching { try errback(error) } }
            return .catching { try callback(input.value()) }
        }
    }

    /// Attaches `callback` for the value and `errback` for the error, which return Deferreds, and returns a
    /// Deferred with the outcome of the one that is returned.
    ///
    /// The chain waits for the nested Deferred; see ``then(on:_:fileID:line:)``.
    ///
    /// - Parameters:
    ///   - dispatcher: Where the closure runs. `nil`: at once, on the completing thread, or before `then` returns if
    ///     this Deferred is settled.
    ///   - callback: Receives the value. An error that it throws fails the returned Deferred.
    ///   - errback: Receives the error. An error that it throws fails the returned Deferred. If the returned Deferred
    ///     is cancelled first, it runs with `CancellationError`.
    @_alwaysEmitIntoClient
    @inline(__always)
    public func then<R: DeferredConvertible>(
        on dispatcher: (any Dispatcher)? = nil, _ callback: @escaping @Sendable (Value) throws -> R,
        orElse errback: @escaping @Sendable (any Error) throws -> R, fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<R.Value> {
        attach(dispatcher, DeferredDiagnostic.Location(.pair, fileID, line)) { input in
            if let error = input.error { return .nesting { try errback(error) } }
            return .nesting { try callback(input.value()) }
        }
    }

    /// Attaches `callback` for the value and `errback` for the error, which return nothing, and returns a
    /// Deferred that is resolved when one of them has run.
    ///
    /// It may end a chain.
    ///
    /// - Parameters:
    ///   - dispatcher: Where the closure runs. `nil`: at once, on the completing thread, or before `done` returns if
    ///     this Deferred is settled.
    ///   - callback: Receives the value. An error that it throws fails the returned Deferred.
    ///   - errback: Receives the error. An error that it throws fails the returned Deferred. If the returned Deferred
    ///     is cancelled first, it runs with `CancellationError`.
    @_alwaysEmitIntoClient
    @inline(__always)
    @discardableResult
    public func done(
        on dispatcher: (any Dispatcher)? = nil, _ callback: @escaping @Sendable (Value) throws -> Void,
        fail errback: @escaping @Sendable (any Error) throws -> Void, fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<Void> {
        attach(dispatcher, DeferredDiagnostic.Location(.pair, fileID, line)) { input in
            if let error = input.error { return .catching { try errback(error) } }
            return .catching { try callback(input.value()) }
        }
    }
}
