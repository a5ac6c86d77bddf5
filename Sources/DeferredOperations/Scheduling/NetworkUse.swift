internal import Deferred
internal import Dispatch

/// Notifies listeners of whether the network is in use: of the present state, and of each change.
final class NetworkUse: Sendable {
    private struct State {
        var isInUse = false
        var isOver = false
        var listeners: [Int: AsyncStream<Bool>.Continuation] = [:]
        var nextListener = 0
    }

    private let state = SpinLocked(State())
    /// Listeners are notified on this queue: in order, and without delaying the caller.
    private let queue = DispatchQueue(label: "DeferredOperations.NetworkUse")

    /// Returns a stream of the present state and of each change.
    func stream() -> AsyncStream<Bool> {
        let (stream, continuation) = AsyncStream<Bool>.makeStream()
        queue.async { [self] in
            let (isInUse, number) = state.withLock { state -> (Bool, Int?) in
                guard !state.isOver else { return (false, nil) }
                state.nextListener += 1
                state.listeners[state.nextListener] = continuation
                return (state.isInUse, state.nextListener)
            }
            continuation.yield(isInUse)
            guard let number else { return continuation.finish() }
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
            }
        }
        return stream
    }

    /// Notifies the listeners of a change.
    func note(_ isInUse: Bool) {
        queue.async { [self] in
            let listeners = state.withLock { state in
                state.isInUse = isInUse
                return Array(state.listeners.values)
            }
            for listener in listeners { listener.yield(isInUse) }
        }
    }

    /// Ends all streams.
    func end() {
        queue.async { [self] in
            let listeners = state.withLock { state in
                state.isOver = true
                defer { state.listeners = [:] }
                return Array(state.listeners.values)
            }
            for listener in listeners { listener.finish() }
        }
    }
}
