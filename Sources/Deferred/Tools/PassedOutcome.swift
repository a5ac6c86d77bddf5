/// The outcome of a Deferred, for code of the library that stores it, or looks at it, and passes it on. A value with
/// `onUndelivered:` is not received by that (V1): it is given back with the last copy of this, unless it was received
/// after it had been passed on.
@usableFromInline
package struct PassedOutcome<Value: Sendable>: Sendable {
    @usableFromInline
    enum Content: Sendable {
        case result(Result<Value, any Error>)
        /// A value that is given back if nobody receives it.
        case returnable(ReturnableValue)
    }

    @usableFromInline let content: Content

    /// Creates the outcome of code that received its result, or made it.
    @inlinable
    package init(_ result: Result<Value, any Error>) { content = .result(result) }

    @inlinable
    init(_ outcome: borrowing Payload) {
        if outcome.kind == .returnable {
            content = .returnable(outcome.content(as: ReturnableValue.self))
        } else {
            content = .result(outcome.result())
        }
    }

    /// The result, for code that only looks at it: a value is not received.
    @inlinable
    package var result: Result<Value, any Error> {
        switch content {
        case .result(let result): result
        case .returnable(let returnable): returnable.value.result()
        }
    }

    /// The outcome as that of a link.
    @inlinable
    var payload: Payload {
        switch content {
        case .result(let result): .init(result)
        case .returnable(let returnable): .returnable(returnable)
        }
    }

    /// Whether it is a value that is given back if nobody receives it.
    @inlinable
    package var isReturnable: Bool { if case .returnable = content { true } else { false } }

    /// Notes that a user's code is about to receive the value.
    @inlinable
    package func receive() {
        if case .returnable(let returnable) = content { returnable.receive() }
    }

    /// Returns a settled Deferred with what `transform` makes of the value. If nobody receives that, the value is given
    /// back.
    @inlinable
    package func deferred<U: Sendable>(
        _ transform: (Value) throws -> U, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        Deferred<U>(
            Link.settled(
                payload.mappedPassingOn(transform), DeferredDiagnostic.Location(.settled, fileID, line)))
    }
}

extension Deferred {
    /// As `mapResult`, with a closure that does not receive a value, but stores it or looks at it (V1).
    @inlinable
    package func mapOutcome<U: Sendable>(
        _ callback: @escaping @Sendable (PassedOutcome<Value>) throws -> U,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        attach(nil, DeferredDiagnostic.Location(.mapResult, fileID, line), ValueClosure(callback)) {
            callback, input in
            .catching { try callback.closure(PassedOutcome(input)) }
        }
    }

    /// As `map`, with a closure that does not receive the value: if nobody receives what it returns, the value is given
    /// back (V1).
    @inlinable
    package func mapPassingOn<U: Sendable>(
        _ transform: @escaping @Sendable (Value) throws -> U,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        attach(nil, DeferredDiagnostic.Location(.map, fileID, line), ValueClosure(transform)) {
            transform, input in input.mappedPassingOn(transform.closure)
        }
    }

    /// Returns a Deferred with the outcome that `decided` returns on `dispatcher`, or else with that of this one; also
    /// where the link is cancelled while it waits for its dispatcher. A value is not received (V1).
    ///
    /// Consumers that are cancelled meanwhile end with `CancellationError`, as those of a source that is completed (C5).
    package func passingOn(
        on dispatcher: any Dispatcher, _ decided: @escaping @Sendable () -> PassedOutcome<Value>?,
        fileID: StaticString, line: UInt
    ) -> Deferred<Value> {
        let passed: Deferred<Value> = attach(
            dispatcher, DeferredDiagnostic.Location(.mapResult, fileID, line)
        ) { input in decided()?.payload ?? input.copy() }
        passed.link.locked { passed.link.keepsOutcome = true }
        return passed
    }
}

extension Deferred.Resolver {
    /// Completes the Deferred with an outcome that was passed on.
    @discardableResult
    package func complete(
        with outcome: PassedOutcome<Value>, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Bool {
        right.complete(outcome.payload, DeferredDiagnostic.Location(fileID: fileID, line: line))
    }
}

extension Payload {
    /// The outcome with a transformed value. If nobody receives that, the value is given back.
    @inlinable
    borrowing func mappedPassingOn<Value: Sendable, U: Sendable>(
        _ transform: (Value) throws -> U
    ) -> Payload {
        if isFailure { return copy() }
        guard kind == .returnable else { return .catching { try transform(value()) } }
        let returnable = content(as: ReturnableValue.self)
        do {
            return .returnable(DerivedValue(.value(try transform(returnable.value.value())), of: returnable))
        } catch {
            return .failure(error)
        }
    }
}

/// What was made of a value that is given back if nobody receives either.
@usableFromInline
final class DerivedValue: ReturnableValue, @unchecked Sendable {
    // Sound as `@unchecked Sendable`: a constant of a `Sendable` type.
    private let original: ReturnableValue

    @usableFromInline
    init(_ value: consuming Payload, of original: ReturnableValue) {
        self.original = original
        super.init(value)
    }

    override func didReceive() { original.receive() }
}
