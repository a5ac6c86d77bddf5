import Deferred
import DeferredTesting
import TestSupport
import Testing

@testable import Multicast

@Suite(.watchdog)
struct OnceTests {
    private let log = SharedLog<String>()
    private let owner = Owner()

    @Test("Channel: a listener with once: is called with the first message, and is removed before that")
    func once() {
        let channel = BroadcastChannel<Int>()
        let token = channel.listen(owner, once: true) { [log] number in
            log.add("once \(number)")
            #expect(channel.post(9) == 1)
        }
        channel.listen(owner, once: false) { [log] number in log.add("all \(number)") }
        #expect(token.isListening)
        #expect(channel.post(1) == 2)
        #expect(log.all == ["once 1", "all 9", "all 1"])
        #expect(!token.isListening && channel.listing.listeners.count == 1)
    }

    @Test("Channel: with once:, of messages that wait on a dispatcher the first that it runs is delivered")
    func dispatched() {
        let (channel, queue) = (BroadcastChannel<Int>(), ManualDispatcher())
        channel.listen(owner, on: queue, once: true) { [log] _, number in log.add("\(number)") }
        for number in 0..<3 { #expect(channel.post(number) == 1) }
        #expect(queue.run() == 3)
        #expect(log.all == ["0"])
        #expect(channel.post(3) == 0)
    }

    @Test("Channel: a message that a dispatcher releases without delivering it leaves a listener with once:")
    func released() {
        let (channel, queue) = (BroadcastChannel<Int>(), ManualDispatcher())
        channel.listen(owner, on: queue, once: true) { [log] in log.add("\($0)") }
        channel.post(0)
        queue.dropAll()
        channel.post(1)
        queue.run()
        #expect(log.all == ["1"])
    }

    @Test("M2: a listener with once: that is removed before its message is delivered receives none")
    func removed() {
        let (channel, queue) = (BroadcastChannel<Int>(), ManualDispatcher())
        let token = channel.listen(owner, on: queue, once: true) { [log] in log.add("\($0)") }
        channel.post(0)
        token.remove()
        queue.run()
        #expect(log.all.isEmpty)
    }

    @Test("Channel: with once:, a retained message is the one that is delivered")
    func retained() {
        let channel = BroadcastChannel<Int>()
        channel.post(1, retained: true)
        let token = channel.listen(owner, once: true) { [log] number in log.add("\(number)") }
        #expect(log.all == ["1"] && !token.isListening)
        channel.post(2, retained: true)
        #expect(log.all == ["1"])
    }

    @Test("M4: a listener with once: whose owner is gone is neither called nor counted, and is pruned")
    func goneOwner() {
        let channel = BroadcastChannel<Int>()
        do {
            let gone = Owner()
            channel.listen(gone, once: true) { [log] in log.add("\($0)") }
        }
        #expect(channel.post(1) == 0)
        #expect(log.all.isEmpty && channel.listing.listeners.isEmpty)
    }

    @Test("T1: however many threads post, a listener with once: is called once")
    func threads() {
        for _ in 0..<200 {
            let (channel, calls, counts) = (BroadcastChannel<Int>(), SharedLog<Int>(), SharedLog<Int>())
            channel.listen(owner, once: true) { calls.add($0) }
            onThreads(4) { counts.add(channel.post($0)) }
            #expect(calls.all.count == 1 && counts.all.reduce(0, +) == 1)
        }
    }

    @Test("Main actor: with once:, on the main actor")
    @MainActor func mainActor() async {
        let channel = BroadcastChannel<Int>()
        channel.listen(owner, on: MainActor.self, once: true) { [log] _, number in
            MainActor.assertIsolated()
            log.add("\(number)")
        }
        channel.post(1)
        channel.post(2)
        await drainMainActor()
        #expect(log.all == ["1"])
    }
}
