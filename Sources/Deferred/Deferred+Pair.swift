/// A callback and an errback side by side (Twisted's `addCallbacks`): exactly one of them runs. What the
/// callback throws goes to the next position, not to its sibling (L2). Where they run, and what a cancel
/// does, is as for ``Deferred/then(on:_:fileID:line:)``; a cancelled position's errback runs with
/// `CancellationError`.
extension Deferred {
    /// What `callback` makes of the value, or `errback` of the error.
    @inlinable
    public func then<U: Sendable>(
        on dispatcher: (any Dispatcher)? = nil, _ callback: @escaping @Sendable (Value) throws -> U,
        fail errback: @escaping @Sendable (any Error) throws -> U, fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<U> {
        attach(dispatcher, DeferredDiagnostic.Location(.pair, fileID, line)) { input in
            if let error = input.error { return .catching { try errback(error) } }
            return .catching { try callback(input.value()) }
        }
    }

    /// The outcome of the Deferred that `callback` gives for the value, or `errback` for the error.
    @inlinable
    public func then<U: Sendable>(
        on dispatcher: (any Dispatcher)? = nil, _ callback: @escaping @Sendable (Value) throws -> Deferred<U>,
        fail errback: @escaping @Sendable (any Error) throws -> Deferred<U>, fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Deferred<U> {
        attach(dispatcher, DeferredDiagnostic.Location(.pair, fileID, line)) { input in
            if let error = input.error { return .nesting { try errback(error) } }
            return .nesting { try callback(input.value()) }
        }
    }

    /// Done when `callback` has run with the value, or `errback` with the error.
    @inlinable
    @discardableResult
    public func then(
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
