/// Computes when the next run of a repeating body is due, and waits for it.
///
/// The runs are due at whole intervals after the start, which `reset()` moves to the present.
final class RepeatingSchedule: Sendable {
    private struct State {
        var start: Duration
        /// The number of intervals that had passed at the last run; -1 before a first run at once.
        var last: Int128
        /// The number of the interval at whose end the next run is due.
        var due: Int128 = 0
        /// The wait for the next run.
        var timer: Timer?
        weak var wait: Wait?

        /// Returns how long it is until the next run, which is due at the end of the first interval that has not passed.
        mutating func delay(at time: Duration, _ length: Int128) -> Duration {
            guard length > 0 else {
                due = last + 1
                return .zero
            }
            let passed = (time - start).attosecondCount
            // Never the last one again: a timer may expire a little early.
            due = max(last, passed / length) + 1
            return Duration(attosecondCount: due * length - passed)
        }
    }

    /// Resolves the Deferred of a wait. Only the scheduled work retains it, so that the wait ends with
    /// `.abandoned` if the dispatcher releases its work (A1).
    private final class Wait: Sendable {
        let resolver: Resolver<Void>
        init(_ resolver: Resolver<Void>) { self.resolver = resolver }
    }

    private let interval: Duration
    private let dispatcher: any DelayedDispatcher
    private let state: SpinLocked<State>

    init(every interval: Duration, on dispatcher: any DelayedDispatcher, startsNow: Bool) {
        self.interval = interval
        self.dispatcher = dispatcher
        state = SpinLocked(State(start: dispatcher.elapsed, last: startsNow ? -1 : 0))
    }

    /// Runs `body` when the next run is due: at once if that is a first run now, otherwise on the dispatcher. It
    /// receives the number of intervals since the last run.
    func next<R: DeferredConvertible>(
        _ body: @escaping @Sendable (_ count: Int) throws -> R
    ) -> Deferred<R.Value> {
        let run: @Sendable () throws -> R = { [self] in try body(beginRun(at: dispatcher.elapsed)) }
        if state.withLock({ $0.last < 0 }) { return Deferred(following: run) }
        let (deferred, resolver) = Deferred<Void>.withResolver(canceller: { [self] _ in stop() })
        // Attached before the timer is set, so that the body runs on the dispatcher.
        let result = deferred.then(run)
        wait(Wait(resolver))
        return result
    }

    /// Moves the start to the present, so that the next run is due after one interval.
    func reset() {
        let now = dispatcher.elapsed
        let (timer, wait) = state.withLock { state in
            // A run that is about to begin does not count intervals since the old start.
            (state.start, state.last, state.due) = (now, 0, 0)
            return (state.timer.take(), state.wait)
        }
        // Without a timer the body runs, or is about to, or another reset is setting one.
        guard let timer, let wait, timer.stop() else { return }
        self.wait(wait)
    }

    /// Sets a timer for a wait. The delay is computed in the critical section that stores the timer, so that a reset on
    /// another thread comes either before both, or finds the timer and replaces it.
    private func wait(_ wait: Wait) {
        let timer = Timer()
        let now = dispatcher.elapsed
        let delay = state.withLock { state in
            state.timer = timer
            state.wait = wait
            return state.delay(at: now, interval.attosecondCount)
        }
        timer.set(delay, on: dispatcher) { wait.resolver.resolve() }
        // Cancelled before the timer was stored.
        if wait.resolver.isCancelled { timer.stop() }
    }

    private func stop() {
        let timer = state.withLock { $0.timer.take() }
        timer?.stop()
    }

    /// Records a run, and returns the number of intervals since the last one.
    private func beginRun(at time: Duration) -> Int {
        let length = interval.attosecondCount
        return state.withLock { state in
            let passed = (time - state.start).attosecondCount
            let present = length == 0 ? state.due : max(state.due, passed / length)
            let count = present - state.last
            state.last = present
            return Int(clamping: max(count, 1))
        }
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
