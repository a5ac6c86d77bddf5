import Deferred
import Testing

@testable import Multicast

/// A completable Deferred that a delegate returns, and that nothing else can complete.
@Suite(.timeLimit(.minutes(5)))
struct AbandonedAnswerTests {
    private final class Silent: Sendable {}

    @Test("A1: a question does not retain the handle that a delegate returns", arguments: [false, true])
    func questions(_ isConcurrent: Bool) {
        let order: AskingOrder = isConcurrent ? .concurrently : .sequentially
        let delegates = MulticastDelegate<Silent>()
        let silent = [Silent(), Silent()]
        for delegate in silent { delegates.add(delegate, on: nil) }
        let outcomes: [(String, Deferred<Void>)] = [
            ("all", delegates.all(asking: order) { _ in Deferred<Bool>() }.thenReturn(())),
            ("any", delegates.any(asking: order) { _ in Deferred<Bool>() }.thenReturn(())),
            ("first", delegates.first(asking: order, where: { _ in Deferred<Bool>() }).thenReturn(())),
            ("collect", delegates.collectDeferred { _ in Deferred<Int>() }.thenReturn(())),
        ]
        for (name, outcome) in outcomes {
            #expect(throws: DeferredError.abandoned, "\(name)") { try outcome.currentResult?.get() }
        }
        withExtendedLifetime(silent) {}
    }
}
