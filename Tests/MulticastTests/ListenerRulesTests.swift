import Deferred
import DeferredTesting
import TestSupport
import Testing

@testable import Multicast

/// What delegates, channels and pairs of closures have in common: they call objects to which they refer weakly.
@Suite(.watchdog)
struct ListenerRulesTests {
    private let log = SharedLog<String>()
    private let queue = ManualDispatcher()

    enum Kind: CaseIterable { case delegates, channel, closures }

    /// Objects that are called by one of them.
    private struct Listeners: Sendable {
        let registry: ListenerRegistry
        let add: @Sendable (ReactingDelegate, (any Dispatcher)?) -> Void
        let remove: @Sendable (ReactingDelegate) -> Void
        let call: @Sendable () -> Void

        init(_ kind: Kind) {
            switch kind {
            case .delegates:
                let delegates = MulticastDelegate<any HearingDelegate>()
                registry = delegates.registry
                add = { delegates.add($0, on: $1) }
                remove = { delegates.remove($0) }
                call = { delegates.notify { $0.hear("") } }
            case .channel:
                let channel = BroadcastChannel<Int>()
                registry = channel.storage.registry
                add = { channel.listen($0, on: $1) { owner, _ in owner.hear("") } }
                remove = { channel.remove($0) }
                call = { channel.post(1) }
            case .closures:
                let askers = MulticastClosures<Int, any Error>()
                registry = askers.registry
                add = {
                    askers.add($0, on: $1, success: { owner, _ in owner.hear("") }, failure: { _, _ in })
                }
                remove = { askers.remove($0) }
                call = { askers.complete(with: .success(1)) }
            }
        }
    }

    @Test(
        "M4: who is deallocated before its call is not called, and its place is freed",
        arguments: Kind.allCases)
    func gone(kind: Kind) {
        let listeners = Listeners(kind)
        listeners.add(ReactingDelegate { [log] _, _ in log.add("gone before the call") }, nil)
        var owner: ReactingDelegate? = ReactingDelegate { [log] _, _ in log.add("gone before its work") }
        weak var witness: ReactingDelegate?
        witness = owner
        listeners.add(owner!, queue)
        listeners.call()
        #expect(queue.count == 1)
        owner = nil
        #expect(witness == nil, "what is queued does not keep it")
        queue.run()
        #expect(log.all == [] && listeners.registry.indexedCount == 0)
    }

    @Test(
        "M2: a call that was queued before a removal is not made after it, though the object was added again",
        arguments: Kind.allCases)
    func removed(kind: Kind) {
        let listeners = Listeners(kind)
        let owner = ReactingDelegate { [log] _, _ in log.add("called") }
        for isLast in [false, true] {
            listeners.add(owner, queue)
            listeners.call()
            if !isLast { listeners.remove(owner) }
        }
        queue.run()
        #expect(log.all == ["called"])
    }

    @Test(
        "M4: an object is kept while it is called, and may remove itself in its deinit, which the call then runs",
        arguments: Kind.allCases, [true, false])
    func endsInCall(kind: Kind, isAtOnce: Bool) {
        let (listeners, holder) = (Listeners(kind), SharedReference())
        do {
            let owner = ReactingDelegate { [log] _, _ in
                holder.held = nil
                log.add("still there")
            } atEnd: { [log] owner in
                listeners.remove(owner)
                log.add("removed")
            }
            holder.held = owner
            listeners.add(owner, isAtOnce ? nil : queue)
        }
        listeners.call()
        queue.run()
        #expect(log.all == ["still there", "removed"] && listeners.registry.indexedCount == 0)
    }
}
