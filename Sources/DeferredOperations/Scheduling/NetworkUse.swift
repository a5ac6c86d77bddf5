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
    let queue = DispatchQueue(label: "DeferredOperations.NetworkUse")

    /// How many streams receive changes.
    var listenerCount: Int { state.withLock { $0.listeners.count } }

    /// Returns a stream of the present state and of each change.
    func stream() -> AsyncStream<Bool> {
        let (stream, continuation) = AsyncStream<Bool>.makeStream()
        queue.async { [self] in
            let number = state.withLock { state in
                state.nextListener += 1
                return state.nextListener
            }
            // Before the continuation is registered, so that there is no moment at which a stream that ends stays
            // registered. A handler that is set after the end is not called; `yield` reports that end.
            continuation.onTermination = { [weak self] _ in self?.remove(number) }
            let (isInUse, isOver) = state.withLock { state in
                if !state.isOver { state.listeners[number] = continuation }
                return (state.isInUse, state.isOver)
            }
            // Changes are notified on this queue, so that none comes between the registration and this value.
            if case .terminated = continuation.yield(isOver ? false : isInUse) { remove(number) }
            if isOver { continuation.finish() }
        }
        return stream
    }

    private func remove(_ number: Int) {
        _ = state.withLock { $0.listeners.removeValue(forKey: number) }
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
