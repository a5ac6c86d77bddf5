/// Callbacks: what is to be done with the value.
///
/// Each of these gives the next position in the chain. `on:` names the ``Dispatcher`` that the callback runs
/// on; without it the callback runs at once, on the thread that fires, or before `then` returns if the
/// Deferred has fired. What a callback throws is the failure of the next position. A failure passes by a
/// callback untouched. If this position is cancelled before its callback's turn the callback does not run,
/// and `CancellationError` goes down the chain.
extension Deferred {
    @inlinable
    @inline(__always)
    func attach<U>(
        _ dispatcher: (any Dispatcher)?, _ site: DeferredDiagnostic.Location,
        _ step: @autoclosure () -> Link.Step
    ) -> Deferred<U> {
        // Not `if let`, which copies the existential before it looks.
        if case .none = dispatcher {
            // Fired and idle: the step runs here and now, and need not be kept.
            if link.beginTurn() { return Deferred<U>(link.endTurn(step()(link.content), site)) }
            return Deferred<U>(link.attach(.step(step()), site))
        }
        return Deferred<U>(link.attach(.handover(Handover(dispatcher!, step())), site))
    }

    /// The value that `callback` makes of this one.
    ///
    /// ```swift
    /// let length = page.then { $0.count }
    /// ```
    @inlinable
    public func then<U: Sendable>(
        on dispatcher: (any Dispatcher)? = nil, _ callback: @escaping @Sendable (Value) throws -> U,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        attach(dispatcher, DeferredDiagnostic.Location(.then, fileID, line)) { input in
            if input.isFailure { return input.copy() }
            return .catching { try callback(input.value()) }
        }
    }

    /// The outcome of the Deferred that `callback` gives: the chain waits for it.
    ///
    /// Cancelling while it waits cancels that Deferred, if nobody else consumes it. That Deferred keeps its
    /// value for others.
    ///
    /// ```swift
    /// let page = session.then { fetchPage(for: $0) }
    /// ```
    @inlinable
    public func then<U: Sendable>(
        on dispatcher: (any Dispatcher)? = nil, _ callback: @escaping @Sendable (Value) throws -> Deferred<U>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        attach(dispatcher, DeferredDiagnostic.Location(.then, fileID, line)) { input in
            if input.isFailure { return input.copy() }
            return .nesting { try callback(input.value()) }
        }
    }

    /// Done when `callback` has run with the value. May end a chain: a failure that nobody handles is
    /// reported.
    @inlinable
    @discardableResult
    public func then(
        on dispatcher: (any Dispatcher)? = nil, _ callback: @escaping @Sendable (Value) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        attach(dispatcher, DeferredDiagnostic.Location(.then, fileID, line)) { input in
            if input.isFailure { return input.copy() }
            return .catching { try callback(input.value()) }
        }
    }

    /// This value, whatever this Deferred's was; a failure passes.
    @inlinable
    public func thenReturn<U: Sendable>(
        _ value: U, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        then({ _ in value }, fileID: fileID, line: line)
    }
}
