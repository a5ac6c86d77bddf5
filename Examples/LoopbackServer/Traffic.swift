/// Counts what the server has received, and resumes Tasks that wait for a count.
final class Traffic: Sendable {
    /// The numbers up to some moment.
    struct Tally {
        var requests: [Request] = []
        var underWay = 0
        var mostUnderWay = 0
        var openConnections = 0
        var acceptedConnections = 0
    }

    private struct Waiter {
        let isSatisfied: @Sendable (Tally) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var tally = Tally()
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
        var isOver = false
    }

    private let state = Monitor(State())

    var tally: Tally { state.withLock { $0.tally } }

    func update(_ change: (inout Tally) -> Void) {
        let satisfied = state.withLock { state in
            change(&state.tally)
            let ready = state.waiters.filter { $0.value.isSatisfied(state.tally) }
            for key in ready.keys { state.waiters[key] = nil }
            return ready.values.map(\.continuation)
        }
        for continuation in satisfied { continuation.resume() }
    }

    /// Resumes all waiting Tasks; there will be no more traffic.
    func end() {
        let waiting = state.withLock { state in
            state.isOver = true
            defer { state.waiters = [:] }
            return state.waiters.values.map(\.continuation)
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns when `isSatisfied` returns true for the tally, the server has stopped, or the Task is
    /// cancelled.
    func wait(until isSatisfied: @escaping @Sendable (Tally) -> Bool) async {
        let key = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustWait = state.withLock { state in
                    guard !state.isOver, !Task.isCancelled, !isSatisfied(state.tally) else { return false }
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
