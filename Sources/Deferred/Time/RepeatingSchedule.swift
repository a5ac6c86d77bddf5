/// Computes when the next run of a repeating body is due, and waits for it, for the steps of an ``AsyncLoop``.
///
/// The runs are due at whole intervals after the start, which ``reset(every:)`` moves to the present. The timer that is
/// set stays set then, and is set anew when it expires too early.
final class RepeatingSchedule: Sendable {
    private struct State {
        var interval: Duration
        /// The latest time that `reset` has read. A thread that read an earlier one, and comes later, uses this.
        var start: Duration
        /// The number of intervals that had passed at the last run; -1 before a first run at once.
        var last: Int128
        /// Whether no run is made for an interval that is over before the timer is set.
        let skipsMissed: Bool
        /// The number of the interval at whose end the next run is due.
        var due: Int128 = 0
        /// The wait for the timer that is set, and when it expires.
        var set: (wait: Deferred<Void>, expires: Duration)?
        var isStopped = false

        /// When the next run is due. (Of work that is stopped, the wait ends at once, and no run begins.)
        var dueTime: Duration {
            isStopped ? .seconds(Int64.min) : start + Duration(attoseconds: due * interval.attoseconds)
        }

        /// How many intervals have passed since the start; none of a length of zero.
        func passed(at time: Duration) -> Int128 {
            interval > .zero ? (time - start).attoseconds / interval.attoseconds : 0
        }

        /// Has the next run be due at the end of the first interval that has not passed. Never of the one that has
        /// just run: a timer may expire a little early.
        mutating func setDue(at now: Duration) { due = max(last, skipsMissed ? passed(at: now) : 0) + 1 }
    }

    private let timer: any DelayedDispatcher
    /// Where the body runs; nil for where the timer expires.
    private let place: (any Dispatcher)?
    private let state: SpinLocked<State>

    init(
        every interval: Duration, _ timer: any DelayedDispatcher, on place: (any Dispatcher)? = nil,
        startsNow: Bool = false, skipsMissed: Bool
    ) {
        self.timer = timer.retainedByWork
        self.place = place
        state = SpinLocked(
            State(
                interval: interval, start: timer.elapsed, last: startsNow ? -1 : 0,
                skipsMissed: skipsMissed))
    }

    var interval: Duration { state.withLock { $0.interval } }

    /// Runs `body` when the next run is due: at once if that is a first run now, otherwise where the timer runs its work,
    /// and always on `place` if there is one. It receives the number of intervals since the last run, and returns what
    /// follows. If the timer expires too early, or was to expire earlier, the loop continues without a run.
    func next(
        _ body: @escaping @Sendable (_ count: Int) throws -> Deferred<NextStep>
    ) -> Deferred<NextStep> {
        let run: @Sendable () throws -> Deferred<NextStep> = { [self] in
            guard let count = beginRun(at: timer.elapsed) else { return .resolved(.end) }
            return try body(count)
        }
        if state.withLock({ $0.isStopped || $0.last < 0 }) {
            return Deferred<Void>.resolved().then(on: place, run)
        }
        let (wait, start) = Deferred<Void>.delayed((), #fileID, #line)
        // Attached before the timer is set, so that the body runs where the timer runs its work.
        let result = wait.thenResult { [self] result throws -> Deferred<NextStep> in
            let (set, dueTime) = state.withLock { ($0.set.take(), $0.dueTime) }
            // Cancelled, for a timer that expires earlier.
            guard let set else { return .resolved(.continue) }
            // The timer has released its work, unless this is a cancel.
            if case .failure(let error) = result {
                if case DeferredError.abandoned = error { return .resolved(.abandoned) }
                throw error
            }
            // Not at the present time: a timer may expire a little early.
            let isDue = dueTime <= set.expires
            return isDue ? Deferred<Void>.resolved().then(on: place, run) : .resolved(.continue)
        }
        let now = timer.elapsed
        // In one critical section, so that a change on another thread comes either before it, or finds the timer.
        let delay = state.withLock { state in
            let now = max(now, state.start)
            state.setDue(at: now)
            state.set = (wait, state.dueTime)
            return state.dueTime - now
        }
        start(delay, timer)
        return result
    }

    /// Moves the start to the present, so that the next run is due after one interval.
    func reset(every newInterval: Duration? = nil) {
        change { state, now in
            if let newInterval { state.interval = max(newInterval, .zero) }
            // A run that is about to begin does not count intervals since the old start.
            (state.start, state.last, state.due) = (max(state.start, now), 0, 0)
        }
    }

    /// Has no further run begin.
    func stop() { change { state, _ in state.isStopped = true } }

    /// Changes when the next run is due. A timer that would then expire too late is set anew.
    private func change(_ change: (_ state: inout State, _ now: Duration) -> Void) {
        let now = timer.elapsed
        let expiresTooLate = state.withLock { state -> Deferred<Void>? in
            change(&state, now)
            guard let set = state.set else { return nil }
            state.setDue(at: now)
            guard set.expires > state.dueTime else { return nil }
            state.set = nil
            return set.wait
        }
        expiresTooLate?.cancel()
    }

    /// Records a run, and returns the number of intervals since the last one; nil if no further run is to begin.
    private func beginRun(at time: Duration) -> Int? {
        state.withLock { state in
            if state.isStopped { return nil }
            let present = max(state.due, state.passed(at: time))
            let count = present - state.last
            state.last = present
            return Int(clamping: max(count, 1))
        }
    }
}
