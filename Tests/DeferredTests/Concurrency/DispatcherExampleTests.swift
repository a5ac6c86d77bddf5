import Deferred
import DeferredTesting
import Dispatch
import TestSupport
import Testing

/// Dispatchers of a user's own.
@Suite("Dispatchers of one's own", .watchdog)
struct DispatcherExampleTests {
    /// An actor whose work runs isolated to it.
    actor Account: Dispatcher {
        private(set) var balance = 0

        func deposit(_ amount: Int) { balance += amount }

        nonisolated func dispatch(_ work: @escaping @Sendable () -> Void) {
            Task { await run(work) }
        }

        private func run(_ work: @Sendable () -> Void) { work() }
    }

    @Test("an actor is a dispatcher: callbacks run isolated to it")
    func onActor() async throws {
        let account = Account()
        let source = Deferred<Int>()
        let deposited = source.done(on: account) { amount in
            account.assumeIsolated { $0.deposit(amount) }
        }
        source.resolve(5)
        try await deposited.value
        #expect(await account.balance == 5)
    }
}
