import Deferred
import Testing

@testable import Multicast

/// Work that a dispatcher never runs keeps nobody, and nothing in a ring.
struct LettingGoTests {
    private final class Owner: Sendable {}

    private let log = Log<String>()

    @Test("MulticastDelegate: a dispatcher let go of with calls left undone is let go of, and all they held")
    func delegateCalls() {
        weak var dispatcher: HeldDispatcher?
        weak var registry: ListenerRegistry?
        do {
            let delegates = MulticastDelegate<any Hearing>()
            let held = HeldDispatcher()
            let hearer = Hearer("a", log)
            delegates.add(hearer, on: held)
            let witness = Witness(log)
            delegates.notify { _ in _ = witness }
            dispatcher = held
            registry = delegates.registry
        }
        #expect(dispatcher == nil)
        #expect(registry == nil)
        #expect(log.entries == ["let go"])
    }

    @Test("Channel: a dispatcher let go of with deliveries left undone is let go of, and all they held")
    func channelDeliveries() {
        weak var dispatcher: HeldDispatcher?
        do {
            let channel = Channel<Witness>()
            let held = HeldDispatcher()
            let owner = Owner()
            channel.listen(owner, on: held) { _ in }
            channel.post(Witness(log))
            dispatcher = held
        }
        #expect(dispatcher == nil)
        #expect(log.entries == ["let go"])
    }

    @Test(
        "MulticastClosures: a dispatcher let go of with pairs left uncalled is let go of, and all they held")
    func pairCalls() {
        weak var dispatcher: HeldDispatcher?
        do {
            let askers = MulticastClosures<Witness, any Error>()
            let held = HeldDispatcher()
            let owner = Owner()
            askers.add(owner, on: held, success: { _ in }, failure: { _ in })
            askers.complete(with: .success(Witness(log)))
            dispatcher = held
        }
        #expect(dispatcher == nil)
        #expect(log.entries == ["let go"])
    }

    @Test("MulticastDelegate: what a dispatcher's end does may use the delegates it was removed from")
    func dispatcherEndsOutsideLock() {
        final class Ending: Dispatcher {
            let delegates: MulticastDelegate<any Hearing>
            let log: Log<String>

            init(_ delegates: MulticastDelegate<any Hearing>, _ log: Log<String>) {
                self.delegates = delegates
                self.log = log
            }

            func dispatch(_ work: @escaping @Sendable () -> Void) {
                work()
            }

            deinit {
                log.append("ended with \(delegates.count)")
            }
        }
        let delegates = MulticastDelegate<any Hearing>()
        let hearer = Hearer("a", log)
        delegates.add(hearer, on: Ending(delegates, log))
        delegates.add(hearer, on: nil)
        delegates.remove(hearer)
        #expect(log.entries == ["ended with 0"])
        delegates.add(hearer, on: Ending(delegates, log))
        delegates.removeAll()
        #expect(log.entries == ["ended with 0", "ended with 0"])
    }
}
