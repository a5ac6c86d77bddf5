internal import Deferred

/// The time limit of a transfer that writes a form before it starts: for both together.
final class FormTimeLimit: Sendable {
    private struct State {
        var hasPassed = false
        var isCancelled = false
        var timer: (any DelayedWork)?
    }

    private let state = SpinLocked(State())

    /// Whether the time has passed.
    var hasPassed: Bool { state.withLock { $0.hasPassed } }

    /// Starts the timer. Call it once.
    ///
    /// - Parameter action: Runs where `dispatcher` runs its work, when the time has passed.
    func start(
        _ total: Duration, on dispatcher: any DelayedDispatcher, _ action: @escaping @Sendable () -> Void
    ) {
        let timer = dispatcher.dispatch(after: total) { [self] in
            let isWanted = state.withLock { state in
                state.hasPassed = !state.isCancelled
                return state.hasPassed
            }
            if isWanted { action() }
        }
        let isOver = state.withLock { state in
            guard !state.isCancelled, !state.hasPassed else { return true }
            state.timer = timer
            return false
        }
        // The timer is the user's, so it is cancelled without the lock.
        if isOver { timer.cancel() }
    }

    /// Stops the timer.
    func cancel() {
        let timer = state.withLock { state in
            state.isCancelled = true
            return state.timer.take()
        }
        timer?.cancel()
    }
}
