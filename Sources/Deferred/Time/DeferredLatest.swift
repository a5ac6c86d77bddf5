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
/// The Deferred of a call that was replaced fails with `CancellationError`, whatever its body returns, and also if
/// that was running: a stale value is never delivered to it. It is never reported as unhandled. A callback that is
/// attached to it with a dispatcher, and on its way there when a further call is made, still runs: put what `done`
/// returns into a ``CancelBag``, and empty that, where this matters. Releasing this object changes nothing for the
/// latest call. Safe from any thread.
///
/// Which task-local values closures see: <doc:TaskLocals>.
public final class DeferredLatest: Sendable {
    private struct Latest {
        var number: UInt64 = 0
        /// Cancels the latest call, until that is settled.
        var cancel: (@Sendable () -> Void)?
    }

    /// Apart from this object, which the calls do not retain.
    private let latest = SpinLocked(Latest())
    private let pause: Duration
    private let timer: any DelayedDispatcher

    /// Creates an object without calls.
    ///
    /// - Parameters:
    ///   - pause: How long to wait for a further call before a call's body runs. Zero or less: the body runs at once,
    ///     on the calling thread.
    ///   - timer: Measures that time; bodies that had to wait run on it.
    public init(
        debounce pause: Duration = .zero, timer: any DelayedDispatcher = DispatchQueue.global()
    ) {
        self.pause = pause
        self.timer = timer
    }

    /// Cancels the call before, runs `body` after the pause unless a further call comes first, and returns the outcome
    /// of the Deferred that `body` returns.
    public func run<R: DeferredConvertible>(
        _ body: @escaping @Sendable () throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        let (wait, startTimer) = Deferred<Void>.delayed((), fileID, line)
        let number = latest.withLock { latest in
            latest.number += 1
            return latest.number
        }
        let made = wait.then(body, fileID: fileID, line: line)
        // A failure of a call that is replaced is not reported.
        made.disownFailure()
        let result: Deferred<R.Value> = made.attach(nil, .init(.mapResult, fileID, line)) { [latest] input in
            // A call that was replaced has no value (Q6).
            let isLatest = latest.withLock { $0.number == number }
            return isLatest ? input.copy() : .failure(CancellationError())
        }
        let cancelReplaced = latest.withLock { latest in
            // Another thread may have made a further call meanwhile, which replaces this one.
            var replaced: (@Sendable () -> Void)? = { result.cancel() }
            if latest.number == number { swap(&latest.cancel, &replaced) }
            return replaced
        }
        cancelReplaced?()
        // Releases a call that is settled.
        result.link.whenSettled { [latest] in
            _ = latest.withLock { $0.number == number ? $0.cancel.take() : nil }
        }
        startTimer(pause > .zero ? pause : nil, timer)
        return result
    }

    /// Cancels the call before, runs `body` on the main actor after the pause unless a further call comes first, and
    /// returns the outcome of the Deferred that `body` returns. `body` does not run before this returns; a further call
    /// prevents it until it runs.
    public func run<R: DeferredConvertible>(
        on _: MainActor.Type, _ body: @escaping @MainActor @Sendable () throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        run({ Deferred<Void>.following(on: MainActor.self, fileID, line, body) }, fileID: fileID, line: line)
    }

    /// Cancels the call before, runs `body` on the main actor after the pause unless a further call comes first, and
    /// returns what `body` returns or throws. `body` does not run before this returns; a further call prevents it until
    /// it runs.
    @discardableResult
    public func syncRun<T: Sendable>(
        on _: MainActor.Type, _ body: @escaping @MainActor @Sendable () throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        run({ Deferred<Void>.catching(on: MainActor.self, fileID, line, body) }, fileID: fileID, line: line)
    }

    /// Cancels the call before, runs `body` after the pause unless a further call comes first, and returns what `body`
    /// returns or throws.
    @discardableResult
    public func syncRun<T: Sendable>(
        _ body: @escaping @Sendable () throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        run({ Deferred(catching: body) }, fileID: fileID, line: line)
    }

    /// Cancels the call before, runs an asynchronous `body` in a Task after the pause unless a further call comes
    /// first, and returns its outcome. Being replaced cancels the Task. It sees the task-local values of this call; see
    /// <doc:TaskLocals>.
    public func asyncRun<T: Sendable>(
        _ body: @escaping @Sendable () async throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        CallersTask.calling { task in
            run({ task.run(body, fileID, line) }, fileID: fileID, line: line)
        }
    }

    /// Cancels the latest call, if it is not settled.
    public func cancel() {
        // It stays there until the call is settled: of two that cancel at once, neither returns before the
        // call has been cancelled.
        latest.withLock { $0.cancel }?()
    }
}
