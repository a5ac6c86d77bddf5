/// Callbacks that see either outcome (Twisted's `addBoth`). Where they run, and what a cancel does, is as for
/// ``Deferred/then(on:_:fileID:line:)``; a cancelled position's callback runs with `CancellationError`.
extension Deferred {
    /// What `callback` makes of the value or the error.
    @inlinable
    public func both<U: Sendable>(
        on dispatcher: (any Dispatcher)? = nil,
        _ callback: @escaping @Sendable (Result<Value, any Error>) throws -> U,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        attach(dispatcher, DeferredDiagnostic.Location(.both, fileID, line)) { input in
            .catching { try callback(input.result()) }
        }
    }

    /// The outcome of the Deferred that `callback` gives for the value or the error.
    @inlinable
    public func both<U: Sendable>(
        on dispatcher: (any Dispatcher)? = nil,
        _ callback: @escaping @Sendable (Result<Value, any Error>) throws -> Deferred<U>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        attach(dispatcher, DeferredDiagnostic.Location(.both, fileID, line)) { input in
            .nesting { try callback(input.result()) }
        }
    }

    /// Done when `callback` has run with the value or the error.
    @inlinable
    @discardableResult
    public func both(
        on dispatcher: (any Dispatcher)? = nil,
        _ callback: @escaping @Sendable (Result<Value, any Error>) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        attach(dispatcher, DeferredDiagnostic.Location(.both, fileID, line)) { input in
            .catching { try callback(input.result()) }
        }
    }
}
