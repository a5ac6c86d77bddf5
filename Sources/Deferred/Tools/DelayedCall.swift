/// A call on a dispatcher after a delay: a timer that is set once and stopped once, in either order, on any thread.
///
/// A chain refers to the work that it has scheduled by a timer. The scheduled work retains the chain and this
/// timer, and the timer retains the scheduled work; that cycle ends when the timer expires or is stopped. Whatever
/// owns a timer stops it when it needs it no longer, at the latest in its `deinit`.
final class DelayedCall: Sendable {
    private enum State: Sendable {
        case new
        case set(any DelayedWork)
        case stopped
        case expired
    }

    private let state = SpinLocked(State.new)

    /// Runs `work` when `delay` has passed, where `timer` runs its work, unless this is stopped before, or `isObsolete`
    /// says then that it is of no use any more.
    func set(
        _ delay: Duration, timer: any DelayedDispatcher,
        unless isObsolete: @escaping @Sendable () -> Bool = { false }, _ work: @escaping @Sendable () -> Void
    ) {
        guard case .new = state.withLock({ $0 }) else { return }
        let scheduled = timer.dispatch(after: delay) { [self] in
            if isObsolete() { stop() } else if expire() { work() }
        }
        let before = state.exchange { if case .new = $0 { .set(scheduled) } else { $0 } }
        if case .stopped = before { scheduled.cancel() }
    }

    /// Stops the timer and releases its work. Returns false if it has expired.
    @discardableResult
    func stop() -> Bool {
        switch state.exchange({ if case .expired = $0 { .expired } else { .stopped } }) {
        case .set(let scheduled): scheduled.cancel()
        case .expired: return false
        case .new, .stopped: break
        }
        return true
    }

    private func expire() -> Bool {
        switch state.exchange({ if case .stopped = $0 { .stopped } else { .expired } }) {
        case .stopped: false
        case .new, .set, .expired: true
        }
    }
}
