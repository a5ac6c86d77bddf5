/// Callbacks on the main actor: the compiler checks that they are isolated to it, so that they may touch what
/// is.
///
/// ```swift
/// @MainActor final class PageModel {
///     var text = ""
///     func load() {
///         fetchPage()
///             .then(on: MainActor.self) { self.text = $0 }
///             .fail(on: MainActor.self) { self.text = "\($0)" }
///     }
/// }
/// ```
///
/// They run on the main actor's executor one after another, never before `then` returns, and otherwise as
/// callbacks ``Deferred/then(on:_:fileID:line:)`` with a ``Dispatcher`` do. What follows runs there too,
/// unless it names a dispatcher.
extension Deferred {
    /// The value that `callback` makes of this one.
    public func then<U: Sendable>(
        on _: MainActor.Type, _ callback: @escaping @MainActor @Sendable (Value) throws -> U,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        attach(MainActorDispatcher(), DeferredDiagnostic.Location(.then, fileID, line)) { input in
            if input.isFailure { return input.copy() }
            let typed: Value = input.value()
            return .catching { try MainActor.assumeIsolated { try callback(typed) } }
        }
    }

    /// The outcome of the Deferred that `callback` gives.
    public func then<U: Sendable>(
        on _: MainActor.Type, _ callback: @escaping @MainActor @Sendable (Value) throws -> Deferred<U>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        attach(MainActorDispatcher(), DeferredDiagnostic.Location(.then, fileID, line)) { input in
            if input.isFailure { return input.copy() }
            let typed: Value = input.value()
            return .nesting { try MainActor.assumeIsolated { try callback(typed) } }
        }
    }

    /// Done when `callback` has run with the value. May end a chain.
    @discardableResult
    public func then(
        on _: MainActor.Type, _ callback: @escaping @MainActor @Sendable (Value) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        attach(MainActorDispatcher(), DeferredDiagnostic.Location(.then, fileID, line)) { input in
            if input.isFailure { return input.copy() }
            let typed: Value = input.value()
            return .catching { try MainActor.assumeIsolated { try callback(typed) } }
        }
    }

    /// The value that `callback` gives in place of the failure.
    public func fail(
        on _: MainActor.Type, _ callback: @escaping @MainActor @Sendable (any Error) throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        attach(MainActorDispatcher(), DeferredDiagnostic.Location(.fail, fileID, line)) { input in
            guard let error = input.error else { return input.copy() }
            return .catching { try MainActor.assumeIsolated { try callback(error) } }
        }
    }

    /// What `callback` makes of the value or the error.
    public func both<U: Sendable>(
        on _: MainActor.Type,
        _ callback: @escaping @MainActor @Sendable (Result<Value, any Error>) throws -> U,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        attach(MainActorDispatcher(), DeferredDiagnostic.Location(.both, fileID, line)) { input in
            let result: Result<Value, any Error> = input.result()
            return .catching { try MainActor.assumeIsolated { try callback(result) } }
        }
    }

    /// The outcome of the Deferred that `callback` gives for the value or the error.
    public func both<U: Sendable>(
        on _: MainActor.Type,
        _ callback: @escaping @MainActor @Sendable (Result<Value, any Error>) throws -> Deferred<U>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        attach(MainActorDispatcher(), DeferredDiagnostic.Location(.both, fileID, line)) { input in
            let result: Result<Value, any Error> = input.result()
            return .nesting { try MainActor.assumeIsolated { try callback(result) } }
        }
    }

    /// Done when `callback` has run with the value or the error. May end a chain.
    @discardableResult
    public func both(
        on _: MainActor.Type,
        _ callback: @escaping @MainActor @Sendable (Result<Value, any Error>) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        attach(MainActorDispatcher(), DeferredDiagnostic.Location(.both, fileID, line)) { input in
            let result: Result<Value, any Error> = input.result()
            return .catching { try MainActor.assumeIsolated { try callback(result) } }
        }
    }
}

extension Deferred where Value == Void {
    /// Done when this has succeeded or `callback` has run. May end a chain.
    @discardableResult
    public func fail(
        on _: MainActor.Type, _ callback: @escaping @MainActor @Sendable (any Error) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        attach(MainActorDispatcher(), DeferredDiagnostic.Location(.fail, fileID, line)) { input in
            guard let error = input.error else { return input.copy() }
            return .catching { try MainActor.assumeIsolated { try callback(error) } }
        }
    }
}

/// The forms that give way; see ``_DeferredForms``.
extension _DeferredForms {
    /// The outcome of the Deferred that `callback` gives in place of the failure.
    public func fail(
        on _: MainActor.Type,
        _ callback: @escaping @MainActor @Sendable (any Error) throws -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        _deferred.attach(MainActorDispatcher(), DeferredDiagnostic.Location(.fail, fileID, line)) {
            input in
            guard let error = input.error else { return input.copy() }
            return .nesting { try MainActor.assumeIsolated { try callback(error) } }
        }
    }

    /// Done when this has succeeded or `callback` has run; a value becomes `()`. May end a chain.
    @discardableResult
    public func fail(
        on _: MainActor.Type, _ callback: @escaping @MainActor @Sendable (any Error) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        _deferred.attach(MainActorDispatcher(), DeferredDiagnostic.Location(.fail, fileID, line)) {
            input in
            guard let error = input.error else { return .value(()) }
            return .catching { try MainActor.assumeIsolated { try callback(error) } }
        }
    }
}

/// Runs work on the main actor's executor, in the order given.
struct MainActorDispatcher: Dispatcher {
    func dispatch(_ work: @escaping @Sendable () -> Void) {
        Task { @MainActor in work() }
    }
}
