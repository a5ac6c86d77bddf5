import Deferred
import DeferredTesting
import Foundation
import TestSupport
import Testing

/// V2: an element that was taken out of a queue and received by nobody returns to the head.
@Suite("DeferredQueue: rule V2", .watchdog)
struct QueueConservation {
    /// How the consumer behind `get()` ends before it has received the element.
    enum WayOut: CaseIterable {
        case cancelledOnQueue, timedOutOnQueue, releasedOnQueue, pausedAndCancelled, nestedAndCancelled,
            unused
        case listThatIsDecided, cancelledAwait, leftLoop, shieldedAndCancelled, bypassingFollow

        /// Attaches a consumer to `get()`, has `put` called, and ends the consumer.
        func lose(_ queue: DeferredQueue<Int>, _ put: () throws -> Void) async throws {
            let (busy, clock) = (ManualDispatcher(), ManualClock())
            switch self {
            case .cancelledOnQueue:
                let done = queue.get().done(on: busy) { _ in Issue.record("received") }
                try put()
                done.cancel()
            case .timedOutOnQueue:
                let done = queue.get().done(on: busy) { _ in Issue.record("received") }
                    .timeout(.seconds(1), timer: clock)
                try put()
                clock.advance(by: .seconds(1))
                done.fail { _ in }
            case .releasedOnQueue:
                queue.get().done(on: DroppingDispatcher()) { _ in }.fail { _ in }
                try put()
            case .pausedAndCancelled:
                let got = queue.get()
                got.pause()
                let done = got.done { _ in Issue.record("received") }
                try put()
                done.cancel()
            case .nestedAndCancelled:
                let done = Deferred.resolved(0).then { _ in queue.get() }
                    .done(on: busy) { _ in Issue.record("received") }
                try put()
                done.cancel()
            case .unused:
                let got = queue.get()
                try put()
                #expect(got.isSettled)
            case .listThatIsDecided:
                let other = Deferred<Int>()
                let pair = DeferredList([queue.get(), other]).values()
                try put()
                pair.cancel()
            case .cancelledAwait:
                let paused = queue.get()
                paused.pause()
                let task = Task { try await paused.value }
                try put()
                task.cancel()
                _ = await task.result
            case .leftLoop:
                let inputs = [Deferred.resolved(7), queue.get()]
                try put()
                for await _ in DeferredList(inputs).completed { break }
            case .shieldedAndCancelled:
                let done = queue.get().shielded().done(on: busy) { _ in Issue.record("received") }
                try put()
                done.cancel()
            case .bypassingFollow:
                let followed = Deferred<Int>()
                followed.follow(queue.get().recover { _ in 0 })
                try put()
            }
        }
    }

    @Test("V2: an element returns to the head whatever became of its consumer", arguments: WayOut.allCases)
    func returns(_ way: WayOut) async throws {
        let queue = DeferredQueue<Int>()
        try await way.lose(queue) {
            try queue.put(1)
            try queue.put(2)
        }
        #expect(queue.elements == [1, 2])
        #expect(try successResult(of: queue.get()) == 1)
    }

    @Test("V2: it goes to the call that has waited longest", arguments: WayOut.allCases)
    func toTheNext(_ way: WayOut) async throws {
        let queue = DeferredQueue<Int>()
        var waiting: Deferred<Int>?
        try await way.lose(queue) {
            waiting = queue.get()
            try queue.put(1)
        }
        #expect(try successResult(of: #require(waiting)) == 1)
    }

    @Test(
        "V2: `send` to a queue of size 0 succeeds when the element was received", arguments: WayOut.allCases)
    func rendezvous(_ way: WayOut) async throws {
        let queue = DeferredQueue<Int>(size: 0)
        var sent: Deferred<Void>?
        try await way.lose(queue) {
            sent = queue.send(1)
            #expect(sent?.isSettled == false)
        }
        #expect(sent?.isSettled == false)
        #expect(queue.sendingCount == 1)
        let log = SharedLog<Int>()
        queue.get().done { log($0) }
        #expect(log.all == [1])
        #expect(sent?.isSettled == true)
        #expect(queue.sendingCount == 0)
    }

    @Test(
        "V2: a `send` that is cancelled while its element is on its way fails, and the element does not come back"
    )
    func cancelledSend() throws {
        let queue = DeferredQueue<Int>(size: 0)
        let busy = ManualDispatcher()
        let done = queue.get().done(on: busy) { _ in }
        let sent = queue.send(1)
        sent.cancel()
        #expect(try failureResult(of: sent) is CancellationError)
        done.cancel()
        #expect(queue.sendingCount == 0 && queue.tryGet() == nil)
    }

    @Test("V2: elements that return keep their order")
    func order() throws {
        let (queue, busy) = (DeferredQueue<Int>(), ManualDispatcher())
        let lost = (0..<5).map { _ in queue.get().done(on: busy) { _ in } }
        for number in 0..<8 { try queue.put(number) }
        for index in [3, 0, 4, 1] { lost[index].cancel() }
        #expect(queue.elements == [0, 1, 3, 4, 5, 6, 7])
    }

    @Test("Q3: the end of a queue does not wait for an element that a settled Deferred has")
    func endBesideAnUnreadElement() throws {
        let queue = DeferredQueue<Int>()
        try queue.put(1)
        queue.finish()
        let both = DeferredList([queue.get(), queue.get()]).values()
        #expect(try failureResult(of: both, as: DeferredError.self) == .finished)
        // The first get() had the element; the list did not receive it.
        #expect(queue.elements == [1])
    }

    @Test("V2: a million elements that nobody receives pass through a million calls without recursion (F6)")
    func depth() throws {
        Rules.SmallStack.run { check in
            let queue = DeferredQueue<Int>()
            for _ in 0..<Extent.depth {
                queue.get().done(on: DroppingDispatcher()) { _ in }.fail { _ in }
            }
            try? queue.put(1)
            check(queue.elements == [1])
        }
    }

    @Test("V2: elements put are elements received and elements in the queue, with cancels on other threads")
    func conservation() throws {
        let rounds = Extent.rounds
        let (queue, received) = (DeferredQueue<Int>(), SharedLog<Int>())
        let consumers = SharedLog<Deferred<Void>>()
        Rules.onThreads(3) { thread in
            for number in 0..<rounds {
                switch thread {
                case 0: try? queue.put(number)
                case 1: consumers(queue.get().map { $0 }.done { received($0) })
                default: consumers.all.last?.cancel()
                }
            }
        }
        for consumer in consumers.all { consumer.cancel() }
        while let rest = queue.tryGet() { received(rest) }
        #expect(received.all.sorted() == Array(0..<rounds))
    }
}
