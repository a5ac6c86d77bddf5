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
/// A call is replaced when the next one is made. With `maximumWait`, one whose body has begun is replaced when the next
/// body begins: otherwise calls without a pause between them would cancel each body that the longest wait has begun.
///
/// Which task-local values closures see: <doc:TaskLocals>.
public final class DeferredLatest: Sendable {
    /// Apart from this object, which the calls do not retain.
    private let calls: SpinLocked<LatestCalls>
    private let pause: Duration
    private let maximumWait: Duration?
    private let leadingEdge: Bool
    private let timer: any DelayedDispatcher

    /// Creates an object without calls.
    ///
    /// ```swift
    /// let autosave = DeferredLatest(debounce: .seconds(2), maximumWait: .seconds(30))
    /// func textChanged(_ text: String) { autosave.run { save(text) } }  // at least every 30 s while somebody types
    /// func windowWillClose() { autosave.flush() }
    /// ```
    ///
    /// - Parameters:
    ///   - pause: How long to wait for a further call before a call's body runs. Zero or less: the body runs at once,
    ///     on the calling thread.
    ///   - maximumWait: The longest time from the first call that waits until the body of the latest runs, though
    ///     further calls come in less than `pause`. Nil for no limit; zero or less: every body runs at once.
    ///   - leadingEdge: Whether the first call of a series runs at once, on the calling thread. A series ends when no
    ///     call has come for the time of `pause`. The calls that follow in the series wait as they do otherwise; a
    ///     single call runs once.
    ///   - timer: Measures these times; bodies that had to wait run on it.
    public init(
        debounce pause: Duration = .zero, maximumWait: Duration? = nil, leadingEdge: Bool = false,
        timer: any DelayedDispatcher = DispatchQueue.global()
    ) {
        let waits = pause > .zero && maximumWait ?? pause > .zero
        self.pause = waits ? pause : .zero
        self.maximumWait = waits ? maximumWait : nil
        self.leadingEdge = waits && leadingEdge
        self.timer = timer
        calls = SpinLocked(LatestCalls(replacesWhenBegun: maximumWait != nil))
    }

    /// Cancels the call before, runs `body` after the pause unless a further call comes first, and returns the outcome
    /// of the Deferred that `body` returns.
    public func run<R: DeferredConvertible>(
        _ body: @escaping @Sendable () throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        let (wait, call) = WaitingCall.deferred(fileID, line)
        let number = CallNumber()
        let made = wait.then(body, fileID: fileID, line: line)
        // A failure of a call that is replaced is not reported.
        made.disownFailure()
        let result: Deferred<R.Value> = made.attach(nil, .init(.mapResult, fileID, line)) { [calls] input in
            // A call that was replaced has no value (Q6).
            calls.withLock { $0.mayDeliver(number) } ? input.copy() : .failure(CancellationError())
        }
        let ending = leadingEdge ? DelayedCall() : nil
        let admission = calls.withLock {
            $0.add(result.link, call, number, waits: pause > .zero, ending)
        }
        admission.ending?.stop()
        Link.cancel(admission.replaced.map(\.link))
        withExtendedLifetime(admission) {}
        // Releases a call that is settled.
        result.link.whenSettled { [calls] in
            let (ended, longest) = calls.withLock { $0.end(number) }
            longest?.stop()
            withExtendedLifetime(ended) {}
        }
        ending?.set(pause, timer: timer) { [calls] in _ = calls.withLock { $0.endSeries(of: number) } }
        if admission.startsNow {
            call.begin()
        } else {
            call.pause.set(pause, timer: timer) { [calls] in calls.begin(number, call) }
            startLongestWait()
        }
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

    /// Starts the longest wait, unless that of an earlier call goes on.
    private func startLongestWait() {
        guard let maximumWait else { return }
        let longest = DelayedCall()
        guard calls.withLock({ $0.setLongest(longest) }) else { return }
        longest.set(maximumWait, timer: timer) { [calls] in calls.beginWaiting() }
    }

    /// Runs the body of the call that waits, on this thread, before this returns. Does nothing if no call waits; a body
    /// that is running continues.
    ///
    /// ```swift
    /// func applicationWillTerminate() { autosave.flush() }
    /// ```
    public func flush() { calls.beginWaiting() }

    /// Cancels the latest call, if it is not settled; with `maximumWait`, the one that waits and the one whose body is
    /// running. The next call is the first of a series.
    public func cancel() {
        let ending = calls.withLock { $0.series.take()?.ending }
        ending?.stop()
        // They stay there until they are settled: of two that cancel at once, neither returns before the calls have
        // been cancelled.
        Link.cancel(calls.withLock { $0.all }.map(\.link))
    }
}
