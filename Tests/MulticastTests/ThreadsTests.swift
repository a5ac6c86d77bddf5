import Deferred
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import Multicast

/// Concurrent operations from many threads: no call is lost, doubled or too late.
@Suite(.ownThreads, .watchdog)
struct ThreadsTests {
    @Test("MulticastDelegate: delegates that end on any thread, removing themselves, leave nothing behind")
    func endingEverywhere() {
        let delegates = MulticastDelegate<any HearingDelegate>()
        let log = SharedLog<String>()
        let queue = SerialDispatcher()
        onThreads(4) { thread in
            for _ in 0..<200 {
                let leaving = ReactingDelegate { _, _ in
                } atEnd: { itself in
                    delegates.remove(itself)
                    log.add("gone")
                }
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
}
