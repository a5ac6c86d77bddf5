/// Callbacks on the main actor.
///
/// With `on: MainActor.self` the compiler checks that the closure is isolated to the main actor, so that it may
/// use what is isolated there.
///
/// ```swift
/// @MainActor final class PageModel {
///     var text = ""
///     func load() {
///         fetchPage()
///             .done(on: MainActor.self) { self.text = $0 }
///             .fail(on: MainActor.self) { self.text = "\($0)" }
///     }
/// }
/// ```
///
/// The closures run on the main actor's executor, in the order submitted, and never before the attaching call
/// returns, also if it is made on the main actor and the Deferred is settled. To show at once what is there, read
/// ``Deferred/currentResult``. Otherwise these forms behave as those with a ``Dispatcher``; what follows runs on the
/// main actor too, unless it names a dispatcher.
extension Deferred {
    /// Attaches `callback` and returns a Deferred with the value that it returns. Runs on the main actor,
    /// never within this call; otherwise behaves as the form with a ``Dispatcher``.
    @_alwaysEmitIntoClient
    public func map<U: Sendable>(
        on _: MainActor.Type, _ callback: @escaping @MainActor @Sendable (Value) throws -> U,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        map(on: .mainActor, onMainActor(callback), fileID: fileID, line: line)
    }

    /// Attaches `callback` for the value and `errback` for the error, and returns a Deferred with the value
    /// that the one that runs returns. Runs on the main actor, never within this call; otherwise behaves as
    /// the form with a ``Dispatcher``.
    @_alwaysEmitIntoClient
    public func map<U: Sendable>(
        on _: MainActor.Type, _ callback: @escaping @MainActor @Sendable (Value) throws -> U,
        recover errback: @escaping @MainActor @Sendable (any Error) throws -> U,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        map(on: .mainActor, onMainActor(callback), recover: onMainActor(errback), fileID: fileID, line: line)
    }

    /// Attaches `callback`, which returns a Deferred, and returns a Deferred with that one's outcome. Runs on
    /// the main actor, never within this call; otherwise behaves as the form with a ``Dispatcher``.
    @_alwaysEmitIntoClient
    public func then<R: DeferredConvertible>(
        on _: MainActor.Type, _ callback: @escaping @MainActor @Sendable (Value) throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        then(on: .mainActor, onMainActor(callback), fileID: fileID, line: line)
    }

    /// Attaches `callback` for the value and `errback` for the error, which return Deferreds, and returns a
    /// Deferred with the outcome of the one that is returned. Runs on the main actor, never within this call;
    /// otherwise behaves as the form with a ``Dispatcher``.
    @_alwaysEmitIntoClient
    public func then<R: DeferredConvertible>(
        on _: MainActor.Type, _ callback: @escaping @MainActor @Sendable (Value) throws -> R,
        orElse errback: @escaping @MainActor @Sendable (any Error) throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        then(on: .mainActor, onMainActor(callback), orElse: onMainActor(errback), fileID: fileID, line: line)
    }

    /// Attaches `callback`, which returns nothing, and returns a Deferred that is resolved when it has run.
    /// Runs on the main actor, never within this call; otherwise behaves as the form with a ``Dispatcher``.
    @_alwaysEmitIntoClient
    @discardableResult
    public func done(
        on _: MainActor.Type, _ callback: @escaping @MainActor @Sendable (Value) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        done(on: .mainActor, onMainActor(callback), fileID: fileID, line: line)
    }

    /// Attaches `callback` for the value and `errback` for the error, which return nothing, and returns a
    /// Deferred that is resolved when one of them has run. Runs on the main actor, never within this call;
    /// otherwise behaves as the form with a ``Dispatcher``.
    @_alwaysEmitIntoClient
    @discardableResult
    public func done(
        on _: MainActor.Type, _ callback: @escaping @MainActor @Sendable (Value) throws -> Void,
        fail errback: @escaping @MainActor @Sendable (any Error) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        done(on: .mainActor, onMainActor(callback), fail: onMainActor(errback), fileID: fileID, line: line)
    }

    /// Attaches `errback` and returns a Deferred with the value that it returns in place of the failure. Runs
    /// on the main actor, never within this call; otherwise behaves as the form with a ``Dispatcher``.
    @_alwaysEmitIntoClient
    public func recover(
        on _: MainActor.Type, _ errback: @escaping @MainActor @Sendable (any Error) throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        recover(on: .mainActor, onMainActor(errback), fileID: fileID, line: line)
    }

    /// Attaches `errback`, which returns a Deferred, and returns a Deferred with that one's outcome in place
    /// of the failure. Runs on the main actor, never within this call; otherwise behaves as the form with a
    /// ``Dispatcher``.
    @_alwaysEmitIntoClient
    public func orElse<R: DeferredConvertible>(
        on _: MainActor.Type, _ errback: @escaping @MainActor @Sendable (any Error) throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> where R.Value == Value {
        orElse(on: .mainActor, onMainActor(errback), fileID: fileID, line: line)
    }

    /// Attaches `errback`, which returns nothing, and returns a Deferred that is resolved when this one is,
    /// or when `errback` has run. Runs on the main actor, never within this call; otherwise behaves as the
    /// form with a ``Dispatcher``.
    @_alwaysEmitIntoClient
    @discardableResult
    public func fail(
        on _: MainActor.Type, _ errback: @escaping @MainActor @Sendable (any Error) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        fail(on: .mainActor, onMainActor(errback), fileID: fileID, line: line)
    }

    /// Attaches `errback`, which returns nothing, for all errors but a cancellation, and returns a Deferred
    /// that is resolved when this one is, or when `errback` has run. A `CancellationError` passes on
    /// unchanged. Runs on the main actor, never within this call; otherwise behaves as the form with a
    /// ``Dispatcher``.
    @_alwaysEmitIntoClient
    @discardableResult
    public func fail(
        _ selection: DeferredError.Selection, on _: MainActor.Type,
        _ errback: @escaping @MainActor @Sendable (any Error) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        fail(selection, on: .mainActor, onMainActor(errback), fileID: fileID, line: line)
    }

    /// Attaches `errback` for errors of one type and returns a Deferred with the value that it returns in
    /// place of the failure. Runs on the main actor, never within this call; otherwise behaves as the form
    /// with a ``Dispatcher``.
    @_alwaysEmitIntoClient
    public func recover<E: Error>(
        _ type: E.Type, on _: MainActor.Type, _ errback: @escaping @MainActor @Sendable (E) throws -> Value,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        recover(type, on: .mainActor, onMainActor(errback), fileID: fileID, line: line)
    }

    /// Attaches `errback`, which returns a Deferred, for errors of one type and returns a Deferred with that
    /// one's outcome in place of the failure. Runs on the main actor, never within this call; otherwise
    /// behaves as the form with a ``Dispatcher``.
    @_alwaysEmitIntoClient
    public func orElse<R: DeferredConvertible, E: Error>(
        _ type: E.Type, on _: MainActor.Type, _ errback: @escaping @MainActor @Sendable (E) throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> where R.Value == Value {
        orElse(type, on: .mainActor, onMainActor(errback), fileID: fileID, line: line)
    }

    /// Attaches `errback`, which returns nothing, for errors of one type and returns a Deferred that is
    /// resolved when this one is, or when `errback` has run. Runs on the main actor, never within this call;
    /// otherwise behaves as the form with a ``Dispatcher``.
    @_alwaysEmitIntoClient
    @discardableResult
    public func fail<E: Error>(
        _ type: E.Type, on _: MainActor.Type, _ errback: @escaping @MainActor @Sendable (E) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        fail(type, on: .mainActor, onMainActor(errback), fileID: fileID, line: line)
    }

    /// Attaches `callback`, which receives either outcome, and returns a Deferred with the value that it
    /// returns. Runs on the main actor, never within this call; otherwise behaves as the form with a
    /// ``Dispatcher``.
    @_alwaysEmitIntoClient
    public func mapResult<U: Sendable>(
        on _: MainActor.Type,
        _ callback: @escaping @MainActor @Sendable (Result<Value, any Error>) throws -> U,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<U> {
        mapResult(on: .mainActor, onMainActor(callback), fileID: fileID, line: line)
    }

    /// Attaches `callback`, which receives either outcome and returns a Deferred, and returns a Deferred with
    /// that one's outcome. Runs on the main actor, never within this call; otherwise behaves as the form with
    /// a ``Dispatcher``.
    @_alwaysEmitIntoClient
    public func thenResult<R: DeferredConvertible>(
        on _: MainActor.Type,
        _ callback: @escaping @MainActor @Sendable (Result<Value, any Error>) throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        thenResult(on: .mainActor, onMainActor(callback), fileID: fileID, line: line)
    }

    /// Attaches `callback`, which receives either outcome and returns nothing, and returns a Deferred that is
    /// resolved when it has run. Runs on the main actor, never within this call; otherwise behaves as the
    /// form with a ``Dispatcher``.
    @_alwaysEmitIntoClient
    @discardableResult
    public func both(
        on _: MainActor.Type,
        _ callback: @escaping @MainActor @Sendable (Result<Value, any Error>) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        both(on: .mainActor, onMainActor(callback), fileID: fileID, line: line)
    }

    /// Attaches `callback`, which receives either outcome, and returns a Deferred with that same outcome.
    /// Runs on the main actor, never within this call; otherwise behaves as the form with a ``Dispatcher``.
    @_alwaysEmitIntoClient
    @discardableResult
    public func always(
        on _: MainActor.Type,
        _ callback: @escaping @MainActor @Sendable (Result<Value, any Error>) throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        always(on: .mainActor, onMainActor(callback), fileID: fileID, line: line)
    }

    /// Attaches `transform` and returns a Deferred that fails with the error that it returns. Runs on the
    /// main actor, never within this call; otherwise behaves as the form with a ``Dispatcher``.
    @_alwaysEmitIntoClient
    public func mapError(
        on _: MainActor.Type, _ transform: @escaping @MainActor @Sendable (any Error) -> any Error,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        mapError(
            on: .mainActor, { error in MainActor.assumeIsolated { transform(error) } },
            fileID: fileID, line: line)
    }

    /// Adds a finalizer that runs on the main actor, and returns this same handle. Otherwise behaves as
    /// ``finally(on:_:)`` with a ``Dispatcher``.
    @_alwaysEmitIntoClient
    @discardableResult
    public func finally(
        on _: MainActor.Type, _ finalizer: @escaping @MainActor @Sendable (Result<Value, any Error>) -> Void
    ) -> Deferred<Value> {
        finally(on: .mainActor) { result in MainActor.assumeIsolated { finalizer(result) } }
    }
}
