import Deferred
import TestSupport
import Testing

@testable import Multicast

/// Work that a dispatcher never runs retains no delegate and closes no cycle.
struct ReleaseTests {
    private let log = SharedLog<String>()

    @Test("MulticastDelegate: a dispatcher released with pending calls is deallocated, with their captures")
    func delegateCalls() {
        weak var dispatcher: HeldDispatcher?
        weak var registry: ListenerRegistry?
        do {
            let delegates = MulticastDelegate<any HearingDelegate>()
            let held = HeldDispatcher()
            let hearer = LoggingDelegate("a", log)
            delegates.add(hearer, on: held)
            let witness = ReleaseProbe(log)
            delegates.notify { _ in _ = witness }
            dispatcher = held
            registry = delegates.registry
        }
        #expect(dispatcher == nil)
        #expect(registry == nil)
        #expect(log.all == ["released"])
    }

    @Test("Channel: a dispatcher released with pending deliveries is deallocated, with their captures")
    func channelDeliveries() {
        weak var dispatcher: HeldDispatcher?
        do {
            let channel = Channel<ReleaseProbe>()
            let held = HeldDispatcher()
            let owner = Owner()
            channel.listen(owner, on: held) { _ in }
            channel.post(ReleaseProbe(log))
            dispatcher = held
        }
        #expect(dispatcher == nil)
        #expect(log.all == ["released"])
    }

    @Test(
        "MulticastClosures: a dispatcher released with pending pairs is deallocated, with their captures")
    func pairCalls() {
        weak var dispatcher: HeldDispatcher?
        do {
            let askers = MulticastClosures<ReleaseProbe, any Error>()
            let held = HeldDispatcher()
            let owner = Owner()
            askers.add(owner, on: held, success: { _ in }, failure: { _ in })
            askers.complete(with: .success(ReleaseProbe(log)))
            dispatcher = held
        }
        #expect(dispatcher == nil)
        #expect(log.all == ["released"])
    }

    @Test("MulticastDelegate: what a dispatcher's end does may use the delegates it was removed from")
    func dispatcherEndsOutsideLock() {
        final class Ending: Dispatcher {
            let delegates: MulticastDelegate<any HearingDelegate>
            let log: SharedLog<String>

            init(_ delegates: MulticastDelegate<any HearingDelegate>, _ log: SharedLog<String>) {
                self.delegates = delegates
                self.log = log
            }

            func dispatch(_ work: @escaping @Sendable () -> Void) {
                work()
            }

            deinit {
                log.add("ended with \(delegates.count)")
            }
        }
        let delegates = MulticastDelegate<any HearingDelegate>()
        let hearer = LoggingDelegate("a", log)
        delegates.add(hearer, on: Ending(delegates, log))
        delegates.add(hearer, on: nil)
        delegates.remove(hearer)
        #expect(log.all == ["ended with 0"])
        delegates.add(hearer, on: Ending(delegates, log))
        delegates.removeAll()
        #expect(log.all == ["ended with 0", "ended with 0"])
    }
}
