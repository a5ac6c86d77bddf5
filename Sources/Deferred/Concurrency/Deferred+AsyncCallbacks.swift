/// Callbacks that are asynchronous: each runs in a Task of its own, and the chain waits for it.
///
/// The Task begins at the callback's turn, and runs on the global executor or on the actor that the closure
/// names (`{ @MainActor in … }`). Cancelling while the chain waits for it cancels the Task, and the position
/// fails with `CancellationError` at once.
extension Deferred {
    /// The value that `callback` makes of this one.
    ///
    /// ```swift
    /// let page = session.then { try await $0.page(at: address) }
    /// ```
    @_disfavoredOverload
    public func then<U: Sendable>(
        priority: TaskPriority? = nil, _ callback: @escaping @Sendable (Value) async throws -> U,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        then(
            { value in
                Deferred<U>(
                    priority: priority, operation: { try await callback(value) }, fileID: fileID, line: line)
            }, fileID: fileID, line: line)
    }

    /// Done when `callback` has run with the value. May end a chain.
    @_disfavoredOverload
    @discardableResult
    public func then(
        priority: TaskPriority? = nil, _ callback: @escaping @Sendable (Value) async throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        then(
            { value in
                Deferred<Void>(
                    priority: priority, operation: { try await callback(value) }, fileID: fileID, line: line)
            }, fileID: fileID, line: line)
    }

    /// The value that `errback` gives in place of the failure.
    @_disfavoredOverload
    public func fail(
        priority: TaskPriority? = nil, _ errback: @escaping @Sendable (any Error) async throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        fail(
            { error in
                Deferred(
                    priority: priority, operation: { try await errback(error) }, fileID: fileID, line: line)
            }, fileID: fileID, line: line)
    }

    /// What `callback` makes of the value or the error.
    @_disfavoredOverload
    public func both<U: Sendable>(
        priority: TaskPriority? = nil,
        _ callback: @escaping @Sendable (Result<Value, any Error>) async throws -> U,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        both(
            { result in
                Deferred<U>(
                    priority: priority, operation: { try await callback(result) }, fileID: fileID, line: line)
            }, fileID: fileID, line: line)
    }
}
