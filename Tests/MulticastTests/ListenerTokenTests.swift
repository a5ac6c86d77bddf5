import Deferred
import DeferredTesting
import TestSupport
import Testing

@testable import Multicast

@Suite(.watchdog)
struct ListenerTokenTests {
    private let log = SharedLog<String>()
    private let owner = Owner()

    @Test("ListenerToken: it removes one of an owner's listeners, and what was queued for it")
    func removesOne() {
        let channel = BroadcastChannel<Int>()
        let queue = ManualDispatcher()
        let tokens = ["a", "b", "c"].map { name in
            channel.listen(owner, on: queue) { [log] in log.add("\(name) \($0)") }
        }
        channel.post(1)
        #expect(tokens.allSatisfy { $0.isListening })
        tokens[1].remove()
        tokens[1].remove()
        queue.run()
        #expect(channel.post(2) == 2)
        queue.run()
        #expect(log.all == ["a 1", "c 1", "a 2", "c 2"])
        #expect(tokens.map(\.isListening) == [true, false, true])
        #expect(channel.storage.registry.indexedCount == 2)
    }

    @Test("ListenerToken: releasing it removes nothing; it retains neither owner nor closure nor dispatcher")
    func retainsNothing() {
        let channel = BroadcastChannel<Int>()
        weak var dispatcher: ManualDispatcher?
        weak var gone: Owner?
        let token: ListenerToken
        do {
            let owner = Owner()
            let queue = ManualDispatcher()
            let witness = ReleaseProbe(log)
            token = channel.listen(owner, on: queue) { _ in _ = witness }
            _ = channel.listen(owner) { [log] in log.add("\($0)") }
            #expect(channel.post(1) == 2)
            dispatcher = queue
            gone = owner
        }
        #expect(gone == nil)
        #expect(!token.isListening)
        channel.post(2)
        #expect(dispatcher == nil)
        #expect(log.all == ["1", "released"])
        token.remove()
    }

    @Test("ListenerToken: a delegate's token removes it from one dispatcher, also from inside its call")
    func delegates() {
        let delegates = MulticastDelegate<any HearingDelegate>()
        let tokens = SharedLog<ListenerToken>()
        let once = ReactingDelegate { [log] _, text in
            log.add("once \(text)")
            tokens.all[0].remove()
        }
        tokens.add(delegates.add(once, on: nil))
        let queue = ManualDispatcher()
        delegates.add(once, on: queue)
        delegates.notify { $0.hear("1") }
        delegates.notify { $0.hear("2") }
        #expect(log.all == ["once 1"])
        #expect(queue.count == 2)
        #expect(delegates.count == 1)
    }

    @Test("ListenerToken: it outlives its channel, and may be used in the owner's deinit")
    func afterChannel() {
        let tokens = SharedLog<ListenerToken>()
        var channel: BroadcastChannel<Int>? = BroadcastChannel()
        var member: ReactingDelegate? = ReactingDelegate({ _, _ in }) { [log] _ in
            tokens.all[0].remove()
            log.add("gone")
        }
        let token = channel!.listen(member!) { _ in }
        tokens.add(token)
        member = nil
        #expect(log.all == ["gone"])
        #expect(channel!.storage.registry.indexedCount == 0)
        channel = nil
        token.remove()
        #expect(!token.isListening)
    }
}
