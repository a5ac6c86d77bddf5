public import Dispatch

/// Work that is done at regular intervals, and whose next run can be postponed (Twisted's `LoopingCall`).
///
/// ```swift
/// let keepAlive = RepeatingWork(every: .seconds(30)) { connection.ping() }
/// connection.onData { keepAlive.reset() }     // no ping while data arrives
/// …
/// keepAlive.stop()
/// ```
///
/// It behaves as the Deferred of `Deferred.repeating(every:timer:startsNow:_:)`, which is its ``deferred``; that form
/// is enough if no run is postponed or stopped. The work continues until it fails, is stopped or is cancelled, whether
/// or not this object is kept.
///
/// Which task-local values closures see: <doc:TaskLocals>.
public final class RepeatingWork: DeferredConvertible {
    /// Resolved after ``stop()``; fails with the first failure of a run, or with `CancellationError`.
    public let deferred: Deferred<Void>
    private let schedule: RepeatingSchedule

    /// Runs `body` every `interval`; as `Deferred.repeating(every:timer:startsNow:_:)`.
    ///
    /// - Parameters:
    ///   - interval: From one run to the next.
    ///   - timer: Measures the time, and runs `body`, except for a first run now, which is on this thread.
    ///   - startsNow: Whether the first run is now or after one interval.
    public convenience init<Ignored: Sendable>(
        every interval: Duration, timer: any DelayedDispatcher = DispatchQueue.global(),
        startsNow: Bool = true, _ body: @escaping @Sendable () throws -> Ignored,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(interval, timer, nil, startsNow, fileID, line) { _ in try body() }
    }

    /// Runs `body` every `interval` with the number of intervals since the last run; as
    /// `Deferred.repeating(every:timer:startsNow:withCount:)`.
    ///
    /// - Parameters:
    ///   - interval: From one run to the next.
    ///   - timer: Measures the time, and runs `body`, except for a first run now, which is on this thread.
    ///   - startsNow: Whether the first run is now or after one interval.
    public convenience init<Ignored: Sendable>(
        every interval: Duration, timer: any DelayedDispatcher = DispatchQueue.global(),
        startsNow: Bool = true, withCount body: @escaping @Sendable (_ count: Int) throws -> Ignored,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(interval, timer, nil, startsNow, fileID, line, body)
    }

    /// Runs `body` on the main actor every `interval`; otherwise behaves as the form without `on:`. A first run
    /// now is not before this returns.
    ///
    /// - Parameters:
    ///   - interval: From one run to the next.
    ///   - timer: Measures the time.
    ///   - startsNow: Whether the first run is now or after one interval.
    public convenience init<Ignored: Sendable>(
        every interval: Duration, on _: MainActor.Type,
        timer: any DelayedDispatcher = DispatchQueue.global(), startsNow: Bool = true,
        _ body: @escaping @MainActor @Sendable () throws -> Ignored,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(interval, timer, .mainActor, startsNow, fileID, line, onMainActor { _ in try body() })
    }

    /// Runs `body` on the main actor every `interval` with the number of intervals since the last run; otherwise
    /// behaves as the form without `on:`.
    ///
    /// - Parameters:
    ///   - interval: From one run to the next.
    ///   - timer: Measures the time.
    ///   - startsNow: Whether the first run is now or after one interval.
    public convenience init<Ignored: Sendable>(
        every interval: Duration, on _: MainActor.Type,
        timer: any DelayedDispatcher = DispatchQueue.global(), startsNow: Bool = true,
        withCount body: @escaping @MainActor @Sendable (_ count: Int) throws -> Ignored,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(interval, timer, .mainActor, startsNow, fileID, line, onMainActor(body))
    }

    /// Runs `body` on `place`; nil for where the timer expires.
    init(
        _ interval: Duration, _ timer: any DelayedDispatcher, _ place: (any Dispatcher)?, _ startsNow: Bool,
        _ fileID: StaticString, _ line: UInt,
        _ body: @escaping @Sendable (_ count: Int) throws -> some Sendable
    ) {
        let schedule = RepeatingSchedule(
            every: interval, timer, on: place, startsNow: startsNow)
        self.schedule = schedule
        if interval < .zero {
            let reason = "repeating: the interval must not be negative, is \(interval)"
            deferred = .rejected(DeferredError.invalidArgument(reason), fileID: fileID, line: line)
        } else {
            let body = DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(body) : body
            deferred = AsyncLoop.deferred(fileID, line) { _ in
                schedule.next { Deferred<Void>(waitingFor: try body($0)).thenReturn(.continue) }
            }
        }
    }

    /// From one run to the next. Setting it starts a new interval, as ``reset()`` does; less than zero counts as zero.
    public var interval: Duration {
        get { schedule.interval }
        set { schedule.reset(every: newValue) }
    }

    /// Starts a new interval: the next run is one interval from now, and later runs at whole intervals after it.
    ///
    /// A run in progress is not affected. Safe from any thread, also from inside a run.
    public func reset() { schedule.reset() }

    /// Ends the work without a failure: lets the run in progress end, starts no further one, and resolves ``deferred``,
    /// which this returns: at once, if no run is in progress and no other thread is in ``reset()`` just now.
    @discardableResult
    public func stop() -> Deferred<Void> {
        schedule.stop()
        return deferred
    }

    /// Stops the timer, or cancels what the run in progress returned; no further run starts.
    public func cancel() { deferred.cancel() }
}
