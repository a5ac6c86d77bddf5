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
/// It behaves as the Deferred of `Deferred.repeating(every:on:startsNow:_:)`, which is its ``deferred``; that form is
/// enough if no run is postponed or stopped. The work continues until it fails, is stopped or is cancelled, whether or
/// not this object is kept.
public final class RepeatingWork: DeferredConvertible {
    /// Resolved after ``stop()``; fails with the first failure of a run, or with `CancellationError`.
    public let deferred: Deferred<Void>
    private let schedule: RepeatingSchedule

    /// Runs `body` every `interval`; as `Deferred.repeating(every:on:startsNow:_:)`.
    ///
    /// - Parameters:
    ///   - interval: From one run to the next.
    ///   - dispatcher: Keeps the time, and runs `body`, except for a first run now, which is on this thread.
    ///   - startsNow: Whether the first run is now or after one interval.
    public convenience init<Ignored: Sendable>(
        every interval: Duration, on dispatcher: any DelayedDispatcher = DispatchQueue.global(),
        startsNow: Bool = true, _ body: @escaping @Sendable () throws -> Ignored,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(interval, dispatcher, nil, startsNow, fileID, line) { _ in
            Deferred(waitingFor: try body())
        }
    }

    /// Runs `body` every `interval` with the number of intervals since the last run; as
    /// `Deferred.repeating(every:on:startsNow:withCount:)`.
    ///
    /// - Parameters:
    ///   - interval: From one run to the next.
    ///   - dispatcher: Keeps the time, and runs `body`, except for a first run now, which is on this thread.
    ///   - startsNow: Whether the first run is now or after one interval.
    public convenience init<Ignored: Sendable>(
        every interval: Duration, on dispatcher: any DelayedDispatcher = DispatchQueue.global(),
        startsNow: Bool = true, withCount body: @escaping @Sendable (_ count: Int) throws -> Ignored,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(interval, dispatcher, nil, startsNow, fileID, line) { Deferred(waitingFor: try body($0)) }
    }

    /// Runs `body` on the main actor every `interval`; otherwise behaves as the form with a dispatcher. A first run
    /// now is not before this returns.
    ///
    /// - Parameters:
    ///   - interval: From one run to the next.
    ///   - timer: Keeps the time.
    ///   - startsNow: Whether the first run is now or after one interval.
    public convenience init<Ignored: Sendable>(
        every interval: Duration, on _: MainActor.Type,
        timer: any DelayedDispatcher = DispatchQueue.global(), startsNow: Bool = true,
        _ body: @escaping @MainActor @Sendable () throws -> Ignored,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(interval, timer, MainActorDispatcher(), startsNow, fileID, line) { _ in
            Deferred(waitingFor: try MainActor.assumeIsolated { try body() })
        }
    }

    /// Runs `body` on the main actor every `interval` with the number of intervals since the last run; otherwise
    /// behaves as the form with a dispatcher.
    ///
    /// - Parameters:
    ///   - interval: From one run to the next.
    ///   - timer: Keeps the time.
    ///   - startsNow: Whether the first run is now or after one interval.
    public convenience init<Ignored: Sendable>(
        every interval: Duration, on _: MainActor.Type,
        timer: any DelayedDispatcher = DispatchQueue.global(), startsNow: Bool = true,
        withCount body: @escaping @MainActor @Sendable (_ count: Int) throws -> Ignored,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(interval, timer, MainActorDispatcher(), startsNow, fileID, line) { count in
            Deferred(waitingFor: try MainActor.assumeIsolated { try body(count) })
        }
    }

    private init(
        _ interval: Duration, _ timer: any DelayedDispatcher, _ place: (any Dispatcher)?, _ startsNow: Bool,
        _ fileID: StaticString, _ line: UInt,
        _ run: @escaping @Sendable (_ count: Int) throws -> Deferred<Void>
    ) {
        let schedule = RepeatingSchedule(every: interval, timer, on: place, startsNow: startsNow)
        self.schedule = schedule
        if interval < .zero {
            let reason = "repeating: the interval must not be negative, is \(interval)"
            deferred = .rejected(DeferredError.invalidArgument(reason), fileID: fileID, line: line)
        } else {
            deferred = AsyncLoop.deferred(fileID: fileID, line: line, result: {}) { _ in schedule.next(run) }
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

/// Computes when the next run of a repeating body is due, and waits for it.
///
/// The runs are due at whole intervals after the start, which `reset()` moves to the present.
final class RepeatingSchedule: Sendable {
    private struct State {
        var interval: Duration
        var start: Duration
        /// The number of intervals that had passed at the last run; -1 before a first run at once.
        var last: Int128
        /// The number of the interval at whose end the next run is due.
        var due: Int128 = 0
        var isStopped = false

        /// Returns when the next run is due: at the end of the first interval that has not passed. (Of work that is
        /// stopped, the wait ends at once, and no run begins.)
        mutating func dueTime(at time: Duration) -> Duration {
            let length = interval.attoseconds
            if isStopped { return .seconds(Int64.min) }
            guard length > 0 else {
                due = last + 1
                return time
            }
            // Never the interval that has just run: a timer may expire a little early.
            due = max(last, (time - start).attoseconds / length) + 1
            return start + Duration(attoseconds: due * length)
        }
    }

    private let dispatcher: any DelayedDispatcher
    private let timer: MovableTimer
    /// Where the body runs; nil for where the timer expires.
    private let place: (any Dispatcher)?
    private let state: SpinLocked<State>

    init(
        every interval: Duration, _ dispatcher: any DelayedDispatcher, on place: (any Dispatcher)?,
        startsNow: Bool
    ) {
        self.dispatcher = dispatcher.retainedByWork
        timer = MovableTimer(on: dispatcher)
        self.place = place
        state = SpinLocked(
            State(interval: interval, start: dispatcher.elapsed, last: startsNow ? -1 : 0))
    }

    var interval: Duration { state.withLock { $0.interval } }

    /// Runs `body` when the next run is due: at once if that is a first run now, otherwise on the dispatcher, and
    /// always on `place` if there is one. It receives the number of intervals since the last run. Returns whether
    /// there is to be another run.
    func next(
        _ body: @escaping @Sendable (_ count: Int) throws -> Deferred<Void>
    ) -> Deferred<NextStep> {
        let run: @Sendable () throws -> Deferred<NextStep> = { [self] in
            guard let count = beginRun(at: dispatcher.elapsed) else { return .resolved(.end) }
            return try body(count).thenReturn(.continue)
        }
        let (isStopped, isFirst) = state.withLock { ($0.isStopped, $0.last < 0) }
        if isStopped || isFirst { return Deferred<Void>.resolved().then(on: place, run) }
        return timer.step(until: dueTime(at:), on: place, run)
    }

    private func dueTime(at now: Duration) -> Duration { state.withLock { $0.dueTime(at: now) } }

    /// Moves the start to the present, so that the next run is due after one interval.
    func reset(every newInterval: Duration? = nil) {
        let now = dispatcher.elapsed
        state.withLock { state in
            if let newInterval { state.interval = max(newInterval, .zero) }
            // A run that is about to begin does not count intervals since the old start.
            (state.start, state.last, state.due) = (max(state.start, now), 0, 0)
        }
        // Computed from the start that is the latest by then, also if another thread resets (Q-f).
        timer.move(to: dueTime(at:))
    }

    /// Has no further run begin.
    func stop() {
        state.withLock { $0.isStopped = true }
        timer.move(to: dueTime(at:))
    }

    /// Records a run, and returns the number of intervals since the last one; nil if no further run is to begin.
    private func beginRun(at time: Duration) -> Int? {
        state.withLock { state in
            if state.isStopped { return nil }
            let length = state.interval.attoseconds
            let passed = (time - state.start).attoseconds
            let present = length == 0 ? state.due : max(state.due, passed / length)
            let count = present - state.last
            state.last = present
            return Int(clamping: max(count, 1))
        }
    }
}
