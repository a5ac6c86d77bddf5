import Deferred
import DeferredTesting
import TestSupport
import Testing

@testable import Multicast

/// Work that a dispatcher never runs retains no delegate and closes no cycle.
struct ReleaseTests {
    private let log = SharedLog<String>()

    enum Kind: CaseIterable { case delegates, channel, closures }

    @Test(
        "a dispatcher released with pending calls is deallocated, with their captures",
        arguments: Kind.allCases)
    func pendingCalls(kind: Kind) {
        weak var dispatcher: ManualDispatcher?
        weak var registry: ListenerRegistry?
        do {
            let (held, owner, witness) = (ManualDispatcher(), LoggingDelegate("a", log), ReleaseProbe(log))
            dispatcher = held
            switch kind {
            case .delegates:
                let delegates = MulticastDelegate<any HearingDelegate>()
                registry = delegates.registry
                delegates.add(owner, on: held)
                delegates.notify { _ in _ = witness }
            case .channel:
                let channel = Channel<ReleaseProbe>()
                registry = channel.storage.registry
                channel.listen(owner, on: held) { _ in }
                channel.post(witness)
            case .closures:
                let askers = MulticastClosures<ReleaseProbe, any Error>()
                registry = askers.registry
                askers.add(owner, on: held, success: { _ in }, failure: { _ in })
                askers.complete(with: .success(witness))
            }
            #expect(held.count == 1)
        }
        #expect(dispatcher == nil)
        #expect(registry == nil)
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
