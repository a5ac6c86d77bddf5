import Deferred

/// Starts one piece of work in each interval, and up to `capacity` at once after a pause.
final class TokenBucket: Sendable {
    private let tokens: DeferredQueue<Void>
    private let refill: Deferred<Void>

    init(capacity: Int, every interval: Duration, timer: any DelayedDispatcher) {
        let tokens = DeferredQueue<Void>(size: capacity)
        self.tokens = tokens
        // A full bucket takes no further token.
        @Sendable func add(_ count: Int) { for _ in 0..<min(count, capacity) { try? tokens.put(()) } }
        add(capacity)
        refill = Deferred.repeating(every: interval, timer: timer, startsNow: false, withCount: add)
    }

    deinit { refill.cancel() }

    /// Waits for a token, in the order of the calls, and runs `body`.
    func run<R: DeferredConvertible>(_ body: @escaping @Sendable () throws -> R) -> Deferred<R.Value> {
        tokens.get().then(body)
    }
}
