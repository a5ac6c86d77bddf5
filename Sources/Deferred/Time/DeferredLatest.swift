public import Dispatch

/// Runs the latest of several calls: each call cancels the one before, and may wait for a pause between calls first
/// (debounce).
///
/// ```swift
/// let search = DeferredLatest(debounce: .milliseconds(300))
///
/// func textChanged(_ text: String) {
///     search.run { api.search(text) }
///         .done(on: MainActor.self) { show($0) }
/// }
/// ```
///
/// The Deferred of a call that was replaced fails with `CancellationError`, which is never reported as unhandled.
/// When this object is released, the latest call is cancelled. Safe from any thread.
public final class DeferredLatest: Sendable {
    private struct State {
        var count: UInt64 = 0
        /// Cancels the latest call, until that is settled.
        var cancelLatest: (@Sendable () -> Void)?
    }

    private let state = SpinLocked(State())
    private let pause: Duration
    private let dispatcher: any DelayedDispatcher

    /// Creates an object without calls.
    ///
    /// - Parameters:
    ///   - pause: How long to wait for a further call before a call's body runs. Zero or less: the body runs at once,
    ///     on the calling thread.
    ///   - dispatcher: Keeps that time; bodies that had to wait run on it.
    public init(
        debounce pause: Duration = .zero, on dispatcher: any DelayedDispatcher = DispatchQueue.global()
    ) {
        self.pause = pause
        self.dispatcher = dispatcher
    }

    deinit { cancel() }

    /// Cancels the call before, runs `body` after the pause unless a further call comes first, and returns the outcome
    /// of the Deferred that `body` returns.
    public func run<R: DeferredConvertible>(
        _ body: @escaping @Sendable () throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        start(fileID, line) { $0.then(body, fileID: fileID, line: line) }
    }

    /// Cancels the call before, runs `body` after the pause unless a further call comes first, and returns what `body`
    /// returns or throws.
    @discardableResult
    public func syncRun<T: Sendable>(
        _ body: @escaping @Sendable () throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        start(fileID, line) { $0.map(body, fileID: fileID, line: line) }
    }

    /// Cancels the call before, runs an asynchronous `body` in a Task after the pause unless a further call comes first,
    /// and returns its outcome. Being replaced cancels the Task.
    public func asyncRun<T: Sendable>(
        _ body: @escaping @Sendable () async throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        run({ Deferred<T>(operation: body, fileID: fileID, line: line) }, fileID: fileID, line: line)
    }

    /// Cancels the latest call, if it is not settled.
    public func cancel() {
        let cancelLatest = state.withLock { $0.cancelLatest.take() }
        cancelLatest?()
    }

    private func start<T>(
        _ fileID: StaticString, _ line: UInt, _ attach: (Deferred<Void>) -> Deferred<T>
    ) -> Deferred<T> {
        let timer = Timer()
        let (start, resolver) = Deferred<Void>.withResolver(
            canceller: { _ in timer.stop() }, fileID: fileID, line: line)
        let result = attach(start)
        let (number, cancelPrevious) = state.withLock { state in
            let previous = state.cancelLatest
            state.count += 1
            state.cancelLatest = { result.cancel() }
            return (state.count, previous)
        }
        cancelPrevious?()
        result.link.observe { [weak self] in self?.release(number) }
        if pause > .zero {
            timer.set(pause, on: dispatcher) { resolver.resolve() }
        } else {
            resolver.resolve()
        }
        return result
    }

    /// Releases a call that is settled.
    private func release(_ number: UInt64) {
        let released = state.withLock { $0.count == number ? $0.cancelLatest.take() : nil }
        _ = consume released
    }
}
