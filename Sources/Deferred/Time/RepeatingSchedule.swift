/// Computes when the next run of a repeating body is due, and waits for it, for the steps of an ``AsyncLoop``.
///
/// The runs are due at whole intervals after the start, which ``reset(every:)`` moves to the present. The timer that is
/// set stays set then, and is set anew when it expires too early. Which run is due next is computed once, at the end of
/// the run before: intervals that were over by then have no run. A run that is overdue later, since a timer expired
/// late or was set late, is made.
final class RepeatingSchedule: Sendable {
    private struct State {
        var interval: Duration
        var start: Duration
        /// The latest time that a thread has read. One that has read an earlier time, and comes later, uses this.
        var present: Duration
        /// The number of intervals that had passed at the last run; -1 before a first run at once.
        var last: Int128
        /// From the moment when a run is to begin until it has ended: it is not yet known when the next one is due.
        var isRunning: Bool
        /// The number of the interval at whose end the next run is due, or the one that is to begin was due; 0 after a
        /// reset while `isRunning`.
        var due: Int128
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

        /// Returns the present time, as far as the threads together know it, where one has read `time`.
        mutating func observe(_ time: Duration) -> Duration {
            present = max(present, time)
            return present
        }

        /// After a run, has the next one be due at the end of the first interval that has not passed. Never of the one
        /// that has just run: a timer may expire a little early.
        mutating func endRun(at now: Duration) {
            guard isRunning else { return }
            isRunning = false
            due = max(last, passed(at: now)) + 1
        }

        /// Returns whether the run is due by `time`, and then is to begin.
        mutating func startsRun(dueBy time: Duration) -> Bool {
            isRunning = dueTime <= time
            return isRunning
        }
    }

    private let timer: any DelayedDispatcher
    /// Where the body runs; nil for where the timer expires.
    private let place: (any Dispatcher)?
    private let state: SpinLocked<State>

    init(
        every interval: Duration, _ timer: any DelayedDispatcher, on place: (any Dispatcher)? = nil,
        startsNow: Bool = false
    ) {
        self.timer = timer.retainedByWork
        self.place = place
        let now = timer.elapsed
        state = SpinLocked(
            State(
                interval: interval, start: now, present: now, last: startsNow ? -1 : 0,
                isRunning: startsNow, due: startsNow ? 0 : 1))
    }

    var interval: Duration { state.withLock { $0.interval } }

    /// Runs `body` when the next run is due: at once if that is a first run now, otherwise where the timer runs its
    /// work, and always on `place` if there is one. It receives the number of intervals since the last run, and returns
    /// what follows. If the timer expires too early, or was to expire earlier, the loop continues without a run.
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
            let (set, wasDue) = state.withLock { state in
                let set = state.set.take()
                return (set, set.map { state.startsRun(dueBy: $0.expires) } ?? false)
            }
            // Cancelled, for a timer that expires earlier.
            guard set != nil else { return .resolved(.continue) }
            // The timer has released its work, unless this is a cancel.
            if case .failure(let error) = result {
                if case DeferredError.abandoned = error { return .resolved(.abandoned) }
                throw error
            }
            // Not at the present time alone: a timer may expire a little early. Nor at its own alone: it may expire
            // late, when a run that was postponed is overdue.
            let isDue = wasDue || isDueNow()
            return isDue ? Deferred<Void>.resolved().then(on: place, run) : .resolved(.continue)
        }
        let now = timer.elapsed
        // In one critical section, so that a change on another thread comes either before it, or finds the timer.
        let delay = state.withLock { state in
            let now = state.observe(now)
            state.endRun(at: now)
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
            (state.start, state.last, state.due) = (now, 0, state.isRunning ? 0 : 1)
        }
    }

    /// Has no further run begin.
    func stop() { change { state, _ in state.isStopped = true } }

    /// Changes when the next run is due. A timer that would then expire too late is set anew.
    private func change(_ change: (_ state: inout State, _ now: Duration) -> Void) {
        let now = timer.elapsed
        let expiresTooLate = state.withLock { state -> Deferred<Void>? in
            change(&state, state.observe(now))
            guard let set = state.set, set.expires > state.dueTime else { return nil }
            state.set = nil
            return set.wait
        }
        expiresTooLate?.cancel()
    }

    private func isDueNow() -> Bool {
        let now = timer.elapsed
        return state.withLock { $0.startsRun(dueBy: $0.observe(now)) }
    }

    /// Records a run, and returns the number of intervals since the last one; nil if no further run is to begin.
    private func beginRun(at time: Duration) -> Int? {
        state.withLock { state in
            if state.isStopped { return nil }
            let passed = max(state.due, state.passed(at: state.observe(time)))
            let count = passed - state.last
            state.last = passed
            return Int(clamping: max(count, 1))
        }
    }
}
