import Deferred
import Synchronization

/// The requests in progress of one connection.
final class Requests: Sendable {
    private struct State {
        var lastNumber = 0
        var resolvers: [Int: Deferred<String>.Resolver] = [:]
    }

    private let state = Mutex(State())

    /// Waits for the answer to a request, which `send` sends with its number.
    func answer(_ send: (_ number: Int) -> Void) -> Deferred<String> {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        // What the canceller takes out is released after the lock.
        let (answer, resolver) = Deferred<String>.withResolver(
            canceller: { [weak self] _ in _ = self?.take(number) })
        state.withLock { $0.resolvers[number] = resolver }
        send(number)
        return answer
    }

    func didReceive(_ text: String, for number: Int) { take(number)?.resolve(text) }

    func didClose(_ error: any Error) {
        let resolvers = state.withLock { state in
            let resolvers = state.resolvers
            state.resolvers = [:]
            return resolvers
        }
        for resolver in resolvers.values { resolver.reject(error) }
    }

    private func take(_ number: Int) -> Deferred<String>.Resolver? {
        state.withLock { $0.resolvers.removeValue(forKey: number) }
    }
}
