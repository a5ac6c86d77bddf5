/// A timer whose time can be moved while it is set, for the steps of an ``AsyncLoop``. While it is moved to later
/// times, the same timer stays set, and is set anew when it expires too early.
final class MovableTimer: Sendable {
    private struct State {
        /// The latest time that was read. A thread that read an earlier one, and comes later, uses this.
        var now = Duration.zero
        var due = Duration.zero
        /// Whether the timer is or is about to be set, so that it can be moved.
        var isOpen = false
        /// The wait for the timer that is set, and when it expires.
        var set: (wait: Deferred<Void>, due: Duration)?

        mutating func note(_ time: Duration) -> Duration {
            now = max(now, time)
            return now
        }
    }

    private let dispatcher: any DelayedDispatcher
    private let state: SpinLocked<State>

    init(on dispatcher: any DelayedDispatcher) {
        self.dispatcher = dispatcher.retainedByWork
        state = SpinLocked(State())
    }

    /// Creates a timer for `step` without a time: for an interval from now on.
    init(after interval: Duration, on dispatcher: any DelayedDispatcher) {
        self.dispatcher = dispatcher.retainedByWork
        let now = dispatcher.elapsed
        state = SpinLocked(State(now: now, due: now + interval, isOpen: true))
    }

    /// Sets the timer, and runs `body` when it expires: on the dispatcher, or on `place` if there is one. If it was
    /// moved meanwhile, the loop continues without a run of `body`.
    ///
    /// - Parameter due: Returns the time at which the wait ends, from the present time; runs under a lock. Nil for the
    ///   time to which the timer was moved last.
    func step(
        until due: ((_ now: Duration) -> Duration)? = nil, on place: (any Dispatcher)? = nil,
        _ body: @escaping @Sendable () throws -> Deferred<NextStep>
    ) -> Deferred<NextStep> {
        let (wait, start) = Deferred<Void>.delayed((), #fileID, #line)
        // Attached before the timer is set, so that the body runs on the dispatcher.
        let result = wait.thenResult { [self] result throws -> Deferred<NextStep> in
            let (set, isDue) = state.withLock { state in
                let set = state.set.take()
                // Not at the present time: a timer may expire a little early.
                let isDue = set.map { state.due <= $0.due } ?? false
                if isDue { state.isOpen = false }
                return (set, isDue)
            }
            // Moved to an earlier time, for which the wait was cancelled.
            guard set != nil else { return .resolved(.continue) }
            // The dispatcher has released the timer, unless this is a cancel.
            if case .failure(let error) = result {
                if case DeferredError.abandoned = error { return .resolved(.abandoned) }
                throw error
            }
            return isDue ? Deferred<Void>.resolved().then(on: place, body) : .resolved(.continue)
        }
        let now = dispatcher.elapsed
        // In one critical section, so that a move on another thread comes either before it, or finds the timer.
        let delay = state.withLock { state in
            let now = state.note(now)
            if let due { state.due = due(now) }
            state.isOpen = true
            state.set = (wait, state.due)
            return state.due - state.now
        }
        start(delay, dispatcher)
        return result
    }

    /// Moves the time. Does nothing while the body runs, and after that until the next step.
    func move(to due: (_ now: Duration) -> Duration) {
        let now = dispatcher.elapsed
        let expiresTooLate = state.withLock { state -> Deferred<Void>? in
            let now = state.note(now)
            guard state.isOpen else { return nil }
            state.due = due(now)
            guard let set = state.set, set.due > state.due else { return nil }
            state.set = nil
            return set.wait
        }
        expiresTooLate?.cancel()
    }
}
