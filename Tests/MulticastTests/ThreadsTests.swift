import Deferred
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import Multicast

/// Concurrent operations from many threads: no call is lost, doubled or too late.
@Suite(.ownThreads)
struct ThreadsTests {
    /// Counts its calls, and records a call after its removal returned.
    private final class Counter: HearingDelegate, Sendable {
        let heard = Atomic(0)
        let isRemoved = Atomic(false)
        let heardAfterRemoval = Atomic(0)

        func hear(_ text: String) {
            heard.add(1, ordering: .relaxed)
            if isRemoved.load(ordering: .acquiring) { heardAfterRemoval.add(1, ordering: .relaxed) }
        }
    }

    @Test(
        "MulticastDelegate: removed on its own queue, a delegate is not called again, however many threads notify"
    )
    func removedOnOwnQueue() {
        let delegates = MulticastDelegate<any HearingDelegate>()
        let queues = (0..<2).map { _ in SerialDispatcher() }
        let counters = (0..<40).map { _ in Counter() }
        for (index, counter) in counters.enumerated() { delegates.add(counter, on: queues[index % 2]) }
        onThreads(4) { thread in
            for round in 0..<40 {
                delegates.notify { $0.hear("") }
                guard thread == 0 else { continue }
                let leaver = counters[round]
                queues[round % 2].dispatch {
                    delegates.remove(leaver)
                    leaver.isRemoved.store(true, ordering: .releasing)
                }
            }
        }
        for queue in queues { queue.drain() }
        #expect(counters.allSatisfy { $0.heardAfterRemoval.load(ordering: .relaxed) == 0 })
        #expect(delegates.count == 0)
    }

    @Test("MulticastDelegate: delegates that end on any thread, removing themselves, leave nothing behind")
    func endingEverywhere() {
        let delegates = MulticastDelegate<any HearingDelegate>()
        let log = SharedLog<String>()
        let queue = SerialDispatcher()
        onThreads(4) { thread in
            for _ in 0..<200 {
                let leaving = SelfRemovingDelegate(delegates, log)
                delegates.add(leaving, on: thread.isMultiple(of: 2) ? nil : queue)
                delegates.notify { $0.hear("") }
            }
        }
        queue.drain()
        let gone = log.all.count { $0 == "gone" }
        #expect(gone == 800)
        #expect(delegates.registry.indexedCount == 0)
    }

    @Test("MulticastDelegate: votes from many threads while delegates come and go all end")
    func voting() async throws {
        let delegates = MulticastDelegate<any AnsweringDelegate>()
        let queue = SerialDispatcher()
        let log = SharedLog<String>()
        let stays = LoggingAnswerer(log, 1)
        delegates.add(stays, on: queue)
        let votes = SharedLog<Deferred<Bool>>()
        onThreads(4) { thread in
            for _ in 0..<100 {
                if thread < 2 {
                    votes.add(delegates.all { try $0.answer("") > 0 })
                } else {
                    let passing = LoggingAnswerer(log, 1)
                    delegates.add(passing, on: queue)
                    if thread == 2 { delegates.remove(passing) }
                }
            }
        }
        for vote in votes.all { #expect(try await vote.value == true) }
        #expect(votes.all.count == 200)
        withExtendedLifetime(stays) {}
    }

    @Test("Channel: listeners come and go by priority while many threads post; one who stays gets everything")
    func channel() {
        let directory = ChannelDirectory()
        let stays = Owner()
        let log = SharedLog<Int>()
        Channel<Int>("busy", in: directory).listen(stays) { log.add($0) }
        onThreads(4) { thread in
            let channel = Channel<Int>("busy", in: directory)
            for round in 0..<300 {
                if thread < 2 {
                    channel.post(thread)
                } else {
                    let passing = Owner()
                    channel.listen(passing, priority: round % 7 - 3) { _ in }
                    if round.isMultiple(of: 2) { channel.remove(passing) }
                    if round.isMultiple(of: 50) { _ = directory.listing }
                }
            }
        }
        #expect(log.all.count == 600)
        #expect(directory.listing.map(\.listeners.count) == [1])
        withExtendedLifetime(stays) {}
    }
}
