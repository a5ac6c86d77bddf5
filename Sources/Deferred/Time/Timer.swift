/// A timer that is set once and stopped once, in either order, on whatever threads.
///
/// It is what a chain holds of the work that it has scheduled. The work holds the chain and this timer; the
/// ring is open again when the timer has expired or been stopped, and every chain that has one ends with the
/// one or the other.
final class Timer: Sendable {
    private enum State {
        case new
        case set(any DelayedWork)
        case stopped
        case expired
    }

    private let state = Guarded(State.new)

    /// Runs `work` on `dispatcher` when `delay` has passed, unless the timer is stopped by then.
    func set(_ delay: Duration, on dispatcher: any DelayedDispatcher, _ work: @escaping @Sendable () -> Void)
    {
        guard case .new = state.withLock({ $0 }) else { return }
        let pending = dispatcher.dispatch(after: delay) { [self] in
            if expire() { work() }
        }
        let isStopped = state.withLock { state in
            switch state {
            case .new: state = .set(pending)
            case .stopped: return true
            case .set, .expired: break
            }
            return false
        }
        if isStopped { pending.cancel() }
    }

    /// Stops it and lets go of its work. False if it has expired.
    @discardableResult
    func stop() -> Bool {
        let before = state.withLock { state in
            let before = state
            if case .expired = before {} else { state = .stopped }
            return before
        }
        switch before {
        case .set(let pending): pending.cancel()
        case .expired: return false
        case .new, .stopped: break
        }
        return true
    }

    private func expire() -> Bool {
        let before = state.withLock { state in
            let before = state
            if case .stopped = before {} else { state = .expired }
            return before
        }
        if case .stopped = before { return false }
        return true
    }
}
