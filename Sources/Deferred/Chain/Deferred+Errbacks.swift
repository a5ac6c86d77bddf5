/// Errbacks, which receive the error.
///
/// Each of these functions attaches a closure and returns the next position in the chain. They differ in what the
/// closure returns: a value (``recover(on:_:fileID:line:)``), a Deferred (``orElse(on:_:fileID:line:)``) or nothing
/// (``fail(on:_:fileID:line:)``); ``mapError(on:_:fileID:line:)`` returns another error. With an error's type as the
/// first argument, the errback runs for errors of that type only, and other errors bypass it (Twisted's
/// `Failure.trap`).
///
/// - **Where the closure runs.** `on:` names a ``Dispatcher``. With `nil` the closure runs at once: on the
///   completing thread, or before the attaching call returns if this Deferred is settled.
/// - **Task-local values.** Those of the code that runs the closure, or of the attaching call: <doc:TaskLocals>.
/// - **Values and errors.** A value bypasses the errback. An errback that returns makes the new link succeed;
///   what it throws fails the new link.
/// - **Cancellation.** If the new link is cancelled before its errback runs, the errback runs with
///   `CancellationError`, and may handle it like any other error.
extension Deferred {
    /// Attaches `errback` and returns a Deferred with the value that it returns in place of the failure.
    ///
    /// ```swift
    /// let page = fetchPage().recover { _ in cachedPage }
    /// ```
    ///
    /// - Parameters:
    ///   - dispatcher: Where `errback` runs. `nil`: at once, on the completing thread, or before `recover` returns if
    ///     this Deferred is settled.
    ///   - errback: Receives the error. An error that it throws fails the returned Deferred. A value bypasses it. If
    ///     the returned Deferred is cancelled first, it runs with `CancellationError`.
    @_alwaysEmitIntoClient
    @inline(__always)
    public func recover(
        on dispatcher: (any Dispatcher)? = nil, _ errback: @escaping @Sendable (any Error) throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        attach(dispatcher, DeferredDiagnostic.Location(.recover, fileID, line), ErrorValueClosure(errback)) {
            errback, input in
            guard let error = input.error else { return input.copy() }
            return .catching { try errback.closure(error) }
        }
    }

    /// Attaches `errback` for errors of one type and returns a Deferred with the value that it returns in
    /// place of such a failure.
    ///
    /// ```swift
    /// let page = fetchPage().recover(NotFound.self) { _ in emptyPage }
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of error to recover from. Other errors bypass `errback`.
    ///   - dispatcher: Where `errback` runs; see ``recover(on:_:fileID:line:)``.
    ///   - errback: Receives the error; see ``recover(on:_:fileID:line:)``.
    @_alwaysEmitIntoClient
    @inline(__always)
    public func recover<E: Error>(
        _ type: E.Type, on dispatcher: (any Dispatcher)? = nil,
        _ errback: @escaping @Sendable (E) throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        attach(dispatcher, DeferredDiagnostic.Location(.recover, fileID, line), ValueClosure(errback)) {
            errback, input in
            guard let matching = input.error as? E else { return input.copy() }
            return .catching { try errback.closure(matching) }
        }
    }

    /// Attaches `errback`, which returns a Deferred, and returns a Deferred with that one's outcome in place
    /// of the failure.
    ///
    /// The chain waits for the nested Deferred; see ``then(on:_:fileID:line:)``.
    ///
    /// ```swift
    /// let page = fetchPage().orElse { _ in fetchPageFromMirror() }
    /// ```
    ///
    /// - Parameters:
    ///   - dispatcher: Where `errback` runs. `nil`: at once, on the completing thread, or before `orElse` returns if
    ///     this Deferred is settled.
    ///   - errback: Receives the error. An error that it throws fails the returned Deferred. A value bypasses it. If
    ///     the returned Deferred is cancelled first, it runs with `CancellationError`.
    @_alwaysEmitIntoClient
    @inline(__always)
    public func orElse<R: DeferredConvertible>(
        on dispatcher: (any Dispatcher)? = nil, _ errback: @escaping @Sendable (any Error) throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> where R.Value == Value {
        attach(dispatcher, DeferredDiagnostic.Location(.orElse, fileID, line), ErrorValueClosure(errback)) {
            errback, input in
            guard let error = input.error else { return input.copy() }
            return .nesting { try errback.closure(error) }
        }
    }

    /// Attaches `errback`, which returns a Deferred, for errors of one type and returns a Deferred with that
    /// one's outcome in place of such a failure.
    ///
    /// ```swift
    /// let page = fetchPage().orElse(Moved.self) { fetchPage(at: $0.newAddress) }
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of error to recover from. Other errors bypass `errback`.
    ///   - dispatcher: Where `errback` runs; see ``orElse(on:_:fileID:line:)``.
    ///   - errback: Receives the error; see ``orElse(on:_:fileID:line:)``.
    @_alwaysEmitIntoClient
    @inline(__always)
    public func orElse<R: DeferredConvertible, E: Error>(
        _ type: E.Type, on dispatcher: (any Dispatcher)? = nil,
        _ errback: @escaping @Sendable (E) throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> where R.Value == Value {
        attach(dispatcher, DeferredDiagnostic.Location(.orElse, fileID, line), ValueClosure(errback)) {
            errback, input in
            guard let matching = input.error as? E else { return input.copy() }
            return .nesting { try errback.closure(matching) }
        }
    }

    /// Attaches `errback`, which returns nothing, and returns a Deferred that is resolved when this one is, or
    /// when `errback` has run.
    ///
    /// It may end a chain. A value that bypasses `errback` becomes `()`.
    ///
    /// ```swift
    /// page.done { show($0) }
    ///     .fail { show($0) }
    /// ```
    ///
    /// - Parameters:
    ///   - dispatcher: Where `errback` runs. `nil`: at once, on the completing thread, or before `fail` returns if this
    ///     Deferred is settled.
    ///   - errback: Receives the error. An error that it throws fails the returned Deferred. A value bypasses it. If
    ///     the returned Deferred is cancelled first, it runs with `CancellationError`.
    @_alwaysEmitIntoClient
    @inline(__always)
    @discardableResult
    public func fail(
        on dispatcher: (any Dispatcher)? = nil, _ errback: @escaping @Sendable (any Error) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        attach(dispatcher, DeferredDiagnostic.Location(.fail, fileID, line), ErrorVoidClosure(errback)) {
            errback, input in
            guard let error = input.error else { return .value(()) }
            return .catching { try errback.closure(error) }
        }
    }

    /// Attaches `errback`, which returns nothing, for all errors but a cancellation, and returns a Deferred that is
    /// resolved when this one is, or when `errback` has run (PromiseKit's `catch`).
    ///
    /// A `CancellationError` bypasses `errback`, and the returned Deferred fails with it; that is never reported. So a
    /// transfer that was cancelled because a new one began changes nothing of what the new one shows. A value that
    /// bypasses `errback` becomes `()`.
    ///
    /// ```swift
    /// page.done(on: .main) { show($0) }
    ///     .fail(.exceptCancellation, on: .main) { showMessage("\($0)") }
    /// ```
    ///
    /// - Parameters:
    ///   - selection: Which errors `errback` receives.
    ///   - dispatcher: Where `errback` runs; see ``fail(on:_:fileID:line:)``.
    ///   - errback: Receives the error. An error that it throws fails the returned Deferred. If the returned Deferred
    ///     is cancelled first, it does not run.
    @_alwaysEmitIntoClient
    @inline(__always)
    @discardableResult
    public func fail(
        _ selection: DeferredError.Selection, on dispatcher: (any Dispatcher)? = nil,
        _ errback: @escaping @Sendable (any Error) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        attach(dispatcher, DeferredDiagnostic.Location(.fail, fileID, line), ErrorVoidClosure(errback)) {
            errback, input in
            guard let error = input.error else { return .value(()) }
            if error is CancellationError { return input.copy() }
            return .catching { try errback.closure(error) }
        }
    }

    /// Attaches `errback`, which returns nothing, for errors of one type and returns a Deferred that is
    /// resolved when this one is, or when `errback` has run.
    ///
    /// It may end a chain: an error of another type that nothing handles is reported. A value that bypasses
    /// `errback` becomes `()`.
    ///
    /// - Parameters:
    ///   - type: The type of error to handle. Other errors bypass `errback`.
    ///   - dispatcher: Where `errback` runs; see ``fail(on:_:fileID:line:)``.
    ///   - errback: Receives the error; see ``fail(on:_:fileID:line:)``.
    @_alwaysEmitIntoClient
    @inline(__always)
    @discardableResult
    public func fail<E: Error>(
        _ type: E.Type, on dispatcher: (any Dispatcher)? = nil,
        _ errback: @escaping @Sendable (E) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        attach(dispatcher, DeferredDiagnostic.Location(.fail, fileID, line), VoidClosure(errback)) {
            errback, input in
            guard let error = input.error else { return .value(()) }
            guard let matching = error as? E else { return input.copy() }
            return .catching { try errback.closure(matching) }
        }
    }

    /// Attaches `transform` and returns a Deferred that fails with the error that it returns.
    ///
    /// ```swift
    /// let page = fetchPage().mapError { PageError(name, $0) }
    /// ```
    ///
    /// - Parameters:
    ///   - dispatcher: Where `transform` runs. `nil`: at once, on the completing thread, or before `mapError` returns
    ///     if this Deferred is settled.
    ///   - transform: Receives the error. A value bypasses it. If the returned Deferred is cancelled first, it runs
    ///     with `CancellationError`, and may return that as it is.
    @_alwaysEmitIntoClient
    @inline(__always)
    public func mapError(
        on dispatcher: (any Dispatcher)? = nil, _ transform: @escaping @Sendable (any Error) -> any Error,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        attach(dispatcher, DeferredDiagnostic.Location(.mapError, fileID, line)) { input in
            guard let error = input.error else { return input.copy() }
            return .failure(transform(error), silence: input.bits.1)
        }
    }
}
