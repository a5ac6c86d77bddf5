import Deferred
import DeferredTesting
import TestSupport
import Testing

@testable import Multicast

/// Work that a dispatcher never runs retains no delegate and closes no cycle.
struct ReleaseTests {
    private let log = SharedLog<String>()

    enum Kind: CaseIterable { case delegates, channel, closures }

    /// What becomes of the object whose listeners the calls are for.
    enum End: CaseIterable { case released, ended, endedAfterCalls }

    @Test(
        "F4: a dispatcher and what its calls capture are released, also if the listener was removed, ended or taken",
        arguments: Kind.allCases, End.allCases)
    func pendingCalls(kind: Kind, end: End) {
        weak var dispatcher: ManualDispatcher?
        weak var registry: ListenerRegistry?
        var kept: [Any] = []
        do {
            let (held, owner, witness) = (ManualDispatcher(), LoggingDelegate("a", log), ReleaseProbe(log))
            dispatcher = held
            switch kind {
            case .delegates:
                let delegates = MulticastDelegate<any HearingDelegate>()
                kept = [owner, delegates.registry]
                delegates.add(owner, on: held)
                delegates.notify { _ in _ = witness }
                if end != .released { delegates.removeAll() }
            case .channel:
                let channel = BroadcastChannel<ReleaseProbe>()
                kept = [owner, channel.storage.registry]
                channel.listen(owner, on: held) { _ in _ = witness }
                channel.post(witness)
                if end != .released { channel.finish() }
            case .closures:
                let askers = MulticastClosures<ReleaseProbe, any Error>()
                kept = [owner, askers.registry]
                askers.add(owner, on: held, success: { _ in _ = witness }, failure: { _ in })
                askers.complete(with: .success(witness))
            }
            registry = kept.last as? ListenerRegistry
            if end == .released { kept = [] }
            #expect(held.count == 1 && log.all.isEmpty)
            if end == .endedAfterCalls { held.run() }
        }
        #expect(dispatcher == nil)
        #expect((registry == nil) == kept.isEmpty && registry?.indexedCount ?? 0 == 0)
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
