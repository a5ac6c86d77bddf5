/// A wait for a time that can be moved meanwhile. While it is moved to later times, the same timer stays set, and is
/// set anew when it expires too early.
///
/// Only the scheduled work retains the right to end the wait: if the dispatcher releases that work, the wait fails with
/// `.abandoned` (A1, Q5).
final class PostponableWait: Sendable {
    /// Resolved on the dispatcher when the time has come. Its cancel stops the timer.
    let deferred: Deferred<Void>

    private struct State {
        /// The latest time that was read. A thread that read an earlier one, and comes later, uses this.
        var now = Duration.zero
        var due = Duration.zero
        /// The timer that is set, and when it expires.
        var timer: (call: DelayedCall, due: Duration)?
        weak var completion: Completion?
        /// Whether the time has come: nothing can be moved any more.
        var hasEnded = false

        mutating func note(_ time: Duration) -> Duration {
            now = max(now, time)
            return now
        }
    }

    private final class Completion: Sendable {
        let resolver: Resolver<Void>
        init(_ resolver: Resolver<Void>) { self.resolver = resolver }
    }

    private let dispatcher: any DelayedDispatcher
    private let state: SpinLocked<State>
    private let completion: SpinLocked<Completion?>

    init(on dispatcher: any DelayedDispatcher, _ fileID: StaticString, _ line: UInt) {
        self.dispatcher = dispatcher
        let state = SpinLocked(State())
        self.state = state
        let (deferred, resolver) = Deferred<Void>.withResolver(
            canceller: { _ in state.withLock { $0.timer.take() }?.call.stop() }, fileID: fileID, line: line)
        self.deferred = deferred
        completion = SpinLocked(Completion(resolver))
    }

    /// Starts the wait. What is attached to its Deferred before runs on the dispatcher.
    ///
    /// - Parameter due: Returns the time at which the wait ends, from the present time; runs under a lock.
    func start(_ due: (_ now: Duration) -> Duration) {
        guard let completion = completion.withLock({ $0.take() }) else { return }
        let now = dispatcher.elapsed
        state.withLock { state in
            state.due = due(state.note(now))
            state.completion = completion
        }
        setTimer(completion)
    }

    /// Moves the end of the wait. Does nothing after that.
    func move(_ due: (_ now: Duration) -> Duration) {
        let now = dispatcher.elapsed
        let (completion, expiresTooLate) = state.withLock { state -> (Completion?, DelayedCall?) in
            if state.hasEnded { return (nil, nil) }
            state.due = due(state.note(now))
            guard let timer = state.timer, timer.due > state.due else { return (nil, nil) }
            state.timer = nil
            return (state.completion, timer.call)
        }
        if let completion, let expiresTooLate, expiresTooLate.stop() { setTimer(completion) }
    }

    /// Ends the wait: on this thread if the timer is set, else on the dispatcher.
    func end() {
        let (completion, timer) = state.withLock { state in
            state.due = state.now
            return (state.completion, state.timer.take())
        }
        if let completion, let timer, timer.call.stop() { completion.resolver.resolve() }
    }

    /// Sets a timer. The delay is computed in the critical section that stores the timer, so that a move on another
    /// thread comes either before both, or finds the timer.
    private func setTimer(_ completion: Completion) {
        let timer = DelayedCall()
        let now = dispatcher.elapsed
        let (due, delay) = state.withLock { state in
            state.timer = (timer, state.due)
            return (state.due, state.due - state.note(now))
        }
        timer.set(delay, on: dispatcher) { [self] in expire(completion, due) }
        // Cancelled before the timer was stored.
        if completion.resolver.isCancelled { timer.stop() }
    }

    /// - Parameter due: The time for which the timer was set. (The timer itself may be a little early.)
    private func expire(_ completion: Completion, _ due: Duration) {
        let hasEnded = state.withLock { state in
            state.timer = nil
            state.hasEnded = state.due <= due
            return state.hasEnded
        }
        if hasEnded { completion.resolver.resolve() } else { setTimer(completion) }
    }
}
