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
        /// The wait for the next run.
        var wait: PostponableWait?
        var isStopped = false

        /// Returns when the next run is due: at the end of the first interval that has not passed.
        mutating func dueTime(at time: Duration) -> Duration {
            let length = interval.attosecondCount
            guard length > 0 else {
                due = last + 1
                return time
            }
            // Never the last one again: a timer may expire a little early.
            due = max(last, (time - start).attosecondCount / length) + 1
            return start + Duration(attosecondCount: due * length)
        }
    }

    private let dispatcher: any DelayedDispatcher
    private let state: SpinLocked<State>

    init(every interval: Duration, on dispatcher: any DelayedDispatcher, startsNow: Bool) {
        self.dispatcher = dispatcher
        state = SpinLocked(
            State(interval: interval, start: dispatcher.elapsed, last: startsNow ? -1 : 0))
    }

    var interval: Duration { state.withLock { $0.interval } }

    /// Runs `body` when the next run is due: at once if that is a first run now, otherwise on the dispatcher. It
    /// receives the number of intervals since the last run. Returns whether there is to be another run.
    func next(
        _ body: @escaping @Sendable (_ count: Int) throws -> Deferred<Void>
    ) -> Deferred<AsyncLoop.Next> {
        let run: @Sendable () throws -> Deferred<AsyncLoop.Next> = { [self] in
            guard let count = beginRun(at: dispatcher.elapsed) else { return .resolved(.end) }
            return try body(count).thenReturn(.continue)
        }
        let (isStopped, isFirst) = state.withLock { ($0.isStopped, $0.last < 0) }
        if isStopped || isFirst { return Deferred(following: run) }
        let wait = PostponableWait(on: dispatcher, #fileID, #line)
        // Attached before the timer is set, so that the body runs on the dispatcher.
        let result = wait.deferred.then(run)
        wait.start { [self] now in
            state.withLock { state in
                state.wait = wait
                return state.isStopped ? now : state.dueTime(at: now)
            }
        }
        return result
    }

    /// Moves the start to the present, so that the next run is due after one interval.
    func reset(every newInterval: Duration? = nil) {
        let now = dispatcher.elapsed
        let wait = state.withLock { state in
            if let newInterval { state.interval = max(newInterval, .zero) }
            // A run that is about to begin does not count intervals since the old start.
            (state.start, state.last, state.due) = (max(state.start, now), 0, 0)
            return state.wait
        }
        // Computed from the start that is the latest by then, also if another thread resets (Q-f).
        wait?.move { [self] now in state.withLock { $0.dueTime(at: now) } }
    }

    /// Has no further run begin.
    func stop() {
        let wait = state.withLock { state in
            state.isStopped = true
            return state.wait
        }
        wait?.end()
    }

    /// Records a run, and returns the number of intervals since the last one; nil if no further run is to begin.
    private func beginRun(at time: Duration) -> Int? {
        let (count, wait) = state.withLock { state -> (Int?, PostponableWait?) in
            let wait = state.wait.take()
            if state.isStopped { return (nil, wait) }
            let length = state.interval.attosecondCount
            let passed = (time - state.start).attosecondCount
            let present = length == 0 ? state.due : max(state.due, passed / length)
            let count = present - state.last
            state.last = present
            return (Int(clamping: max(count, 1)), wait)
        }
        // Released outside of the lock.
        _ = consume wait
        return count
    }
}

extension Duration {
    fileprivate var attosecondCount: Int128 {
        Int128(components.seconds) * 1_000_000_000_000_000_000 + Int128(components.attoseconds)
    }

    fileprivate init(attosecondCount count: Int128) {
        let (seconds, attoseconds) = count.quotientAndRemainder(dividingBy: 1_000_000_000_000_000_000)
        self.init(secondsComponent: Int64(clamping: seconds), attosecondsComponent: Int64(attoseconds))
    }
}
