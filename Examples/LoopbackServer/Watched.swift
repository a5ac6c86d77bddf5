/// A value behind a lock, and Tasks that wait until it is as they want it.
public final class Watched<Value: Sendable>: Sendable {
    private struct Waiter {
        let isSatisfied: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var value: Value
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
        var isOver = false
    }

    private let state: Monitor<State>

    /// Creates one with a first value.
    public init(_ value: Value) { state = Monitor(State(value: value)) }

    /// The value now.
    public var value: Value { state.withLock { $0.value } }

    /// Changes the value, and resumes the Tasks that it satisfies.
    public func update(_ change: (inout Value) -> Void) {
        let satisfied = state.withLock { state in
            change(&state.value)
            let ready = state.waiters.filter { $0.value.isSatisfied(state.value) }
            for key in ready.keys { state.waiters[key] = nil }
            return ready.values.map(\.continuation)
        }
        for continuation in satisfied { continuation.resume() }
    }

    /// Resumes all waiting Tasks; there will be no more changes.
    func end() {
        let waiting = state.withLock { state in
            state.isOver = true
            defer { state.waiters = [:] }
            return state.waiters.values.map(\.continuation)
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns when `isSatisfied` returns true for the value, or the Task is cancelled.
    public func wait(until isSatisfied: @escaping @Sendable (Value) -> Bool) async {
        let key = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustWait = state.withLock { state in
                    guard !state.isOver, !Task.isCancelled, !isSatisfied(state.value) else { return false }
                    state.waiters[key] = Waiter(isSatisfied: isSatisfied, continuation: continuation)
                    return true
                }
                if !mustWait { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: key) }?.continuation.resume()
        }
    }
}
