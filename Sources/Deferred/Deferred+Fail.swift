/// Errbacks: what is to be done with an error.
///
/// A value passes by an errback untouched. An errback that returns makes the next position succeed; one that
/// throws makes it fail. `on:` names the ``Dispatcher`` that it runs on; without it the errback runs at once,
/// on the thread that fires, or before `fail` returns if the Deferred has fired. If this position is
/// cancelled before its turn, the errback runs with `CancellationError`, and may handle it like any other.
extension Deferred {
    /// The value that `errback` gives in place of the failure.
    ///
    /// ```swift
    /// let page = fetchPage().fail { _ in cachedPage }
    /// ```
    @inlinable
    public func fail(
        on dispatcher: (any Dispatcher)? = nil, _ errback: @escaping @Sendable (any Error) throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        attach(dispatcher, DeferredDiagnostic.Location(.fail, fileID, line)) { input in
            guard let error = input.error else { return input.copy() }
            return .catching { try errback(error) }
        }
    }

    /// The value that `errback` gives in place of a failure of this type; other failures pass (Twisted's
    /// `Failure.trap`).
    ///
    /// ```swift
    /// let page = fetchPage().fail(NotFound.self) { _ in emptyPage }
    /// ```
    @inlinable
    public func fail<E: Error>(
        _ type: E.Type, on dispatcher: (any Dispatcher)? = nil,
        _ errback: @escaping @Sendable (E) throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        attach(dispatcher, DeferredDiagnostic.Location(.fail, fileID, line)) { input in
            guard let matching = input.error as? E else { return input.copy() }
            return .catching { try errback(matching) }
        }
    }
}

extension Deferred where Value == Void {
    /// Done when this Deferred has succeeded or `errback` has run. May end a chain.
    @inlinable
    @discardableResult
    public func fail(
        on dispatcher: (any Dispatcher)? = nil, _ errback: @escaping @Sendable (any Error) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        attach(dispatcher, DeferredDiagnostic.Location(.fail, fileID, line)) { input in
            guard let error = input.error else { return input.copy() }
            return .catching { try errback(error) }
        }
    }

    /// Done when this Deferred has succeeded or `errback` has run with a failure of this type; other failures
    /// pass. May end a chain.
    @inlinable
    @discardableResult
    public func fail<E: Error>(
        _ type: E.Type, on dispatcher: (any Dispatcher)? = nil,
        _ errback: @escaping @Sendable (E) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        attach(dispatcher, DeferredDiagnostic.Location(.fail, fileID, line)) { input in
            guard let matching = input.error as? E else { return input.copy() }
            return .catching { try errback(matching) }
        }
    }
}

/// The forms of `fail` that give way: where a closure could be either, as one that only throws, the form that
/// gives a value is meant. (A type's own member is preferred to that of a protocol when nothing else tells
/// them apart. `@_disfavoredOverload` would weigh more than that, and have a nested Deferred silently taken
/// for something to discard.)
public protocol _DeferredForms<Value>: Sendable {
    associatedtype Value: Sendable
    /// This Deferred.
    var _deferred: Deferred<Value> { get }
}

extension Deferred: _DeferredForms {
    /// This Deferred.
    @inlinable public var _deferred: Deferred<Value> { self }
}

extension _DeferredForms {
    /// The outcome of the Deferred that `errback` gives in place of the failure.
    @inlinable
    public func fail(
        on dispatcher: (any Dispatcher)? = nil,
        _ errback: @escaping @Sendable (any Error) throws -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        _deferred.attach(dispatcher, DeferredDiagnostic.Location(.fail, fileID, line)) { input in
            guard let error = input.error else { return input.copy() }
            return .nesting { try errback(error) }
        }
    }

    /// Done when this Deferred has succeeded or `errback` has run; a value becomes `()`. May end a chain.
    ///
    /// The form that gives a value is preferred, so an errback of several statements that gives nothing says
    /// so: `{ error -> Void in … }`.
    @inlinable
    @discardableResult
    public func fail(
        on dispatcher: (any Dispatcher)? = nil, _ errback: @escaping @Sendable (any Error) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        _deferred.attach(dispatcher, DeferredDiagnostic.Location(.fail, fileID, line)) { input in
            guard let error = input.error else { return .value(()) }
            return .catching { try errback(error) }
        }
    }

    /// The outcome of the Deferred that `errback` gives in place of a failure of this type; other failures
    /// pass.
    @inlinable
    public func fail<E: Error>(
        _ type: E.Type, on dispatcher: (any Dispatcher)? = nil,
        _ errback: @escaping @Sendable (E) throws -> Deferred<Value>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        _deferred.attach(dispatcher, DeferredDiagnostic.Location(.fail, fileID, line)) { input in
            guard let matching = input.error as? E else { return input.copy() }
            return .nesting { try errback(matching) }
        }
    }

    /// Done when this Deferred has succeeded or `errback` has run with a failure of this type; other failures
    /// pass. A value becomes `()`. May end a chain.
    @inlinable
    @discardableResult
    public func fail<E: Error>(
        _ type: E.Type, on dispatcher: (any Dispatcher)? = nil,
        _ errback: @escaping @Sendable (E) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        _deferred.attach(dispatcher, DeferredDiagnostic.Location(.fail, fileID, line)) { input in
            guard let matching = input.error as? E else { return input.isFailure ? input.copy() : .value(()) }
            return .catching { try errback(matching) }
        }
    }
}
