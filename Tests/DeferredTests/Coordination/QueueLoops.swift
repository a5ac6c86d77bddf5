import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

/// A queue as an `AsyncSequence`, and `removeAll()`.
@Suite("DeferredQueue: loops and removeAll", .watchdog)
struct QueueLoops {
    struct Unsent: Error {}

    // MARK: Loops

    @Test("Q3: a loop has what was put before finish(), in order, and then ends")
    func ends() async throws {
        let queue = DeferredQueue<Int>()
        for number in 0..<3 { try queue.put(number) }
        queue.finish()
        var seen: [Int] = []
        for try await number in queue { seen.append(number) }
        #expect(seen == [0, 1, 2])
        var iterator = queue.makeAsyncIterator()
        #expect(try await iterator.next() == nil)
    }

    @Test("a loop waits for the next element, as long as the queue is not finished")
    func waits() async throws {
        let queue = DeferredQueue<Int>(size: 0)
        let sum = Deferred {
            var sum = 0
            for try await number in queue { sum += number }
            return sum
        }
        for number in 1...100 { try await queue.send(number).value }
        queue.finish()
        #expect(try await sum.value == 5050)
    }

    @Test("V2: a loop that is left loses no element: the rest is there for the next reader")
    func left() async throws {
        let queue = DeferredQueue<Int>()
        for number in 0..<5 { try queue.put(number) }
        for try await number in queue where number == 1 { break }
        #expect(queue.elements == [2, 3, 4] && queue.waitingCount == 0)
        #expect(try await queue.prefix(2).reduce(0, +) == 5)
        #expect(queue.elements == [4])
    }

    @Test("Q1: several loops and a worker share the elements; each is received once")
    func share() async throws {
        let queue = DeferredQueue<Int>()
        let seen = SharedLog<Int>()
        let loops = (0..<3).map { _ in
            Deferred { for try await number in queue { seen.add(number) } }
        }
        let worker = queue.run { seen.add($0) }
        for number in 0..<300 { try queue.put(number) }
        queue.finish()
        _ = try await DeferredList(loops + [worker]).values().value
        #expect(seen.all.sorted() == Array(0..<300))
    }

    @Test("C6, V2: a loop whose Task is cancelled throws, takes no element, and leaves the queue")
    func cancelled() async throws {
        let queue = DeferredQueue<Int>()
        let task = Task { for try await _ in queue {} }
        while queue.waitingCount == 0 { await Task.yield() }
        task.cancel()
        try queue.put(7)
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(queue.elements == [7] && queue.waitingCount == 0)
    }

    @Test("Q3: a loop over a queue that was released throws .abandoned, after what was in it is gone")
    func abandoned() async throws {
        var queue: DeferredQueue<Int>? = DeferredQueue()
        var iterator = try #require(queue?.makeAsyncIterator())
        let storage = try #require(queue?.storage)
        let waiting = Deferred {
            var iterator = DeferredQueue<Int>.AsyncIterator(storage: storage)
            return try await iterator.next()
        }
        while queue?.waitingCount == 0 { await Task.yield() }
        queue = nil
        await #expect(throws: DeferredError.abandoned) { try await waiting.value }
        await #expect(throws: DeferredError.abandoned) { try await iterator.next() }
    }

    @Test("a loop over an invalid queue, or with too many readers, throws what says so")
    func invalid() async throws {
        var invalid = DeferredQueue<Int>(size: -1).makeAsyncIterator()
        await #expect(throws: DeferredError.invalidArgument("a queue's size must not be negative, is -1")) {
            try await invalid.next()
        }
        let queue = DeferredQueue<Int>(backlog: 0)
        var iterator = queue.makeAsyncIterator()
        await #expect(throws: DeferredError.queueUnderflow(backlog: 0)) { try await iterator.next() }
    }

    // MARK: removeAll

    @Test("removeAll returns what is in the queue, in order; of an empty one, nothing")
    func removesAll() throws {
        let queue = DeferredQueue<Int>(size: 3)
        #expect(queue.removeAll().isEmpty)
        for number in 0..<3 { try queue.put(number) }
        #expect(queue.removeAll() == [0, 1, 2] && queue.count == 0)
        for number in 3..<6 { try queue.put(number) }
        #expect(queue.elements == [3, 4, 5])
    }

    @Test("Q4: removeAll lets in what waits to be sent, as far as there is room, in order")
    func letsIn() throws {
        let queue = DeferredQueue<Int>(size: 2)
        let sent = (0..<7).map { queue.send($0) }
        #expect(queue.removeAll() == [0, 1])
        #expect(queue.elements == [2, 3] && queue.sendingCount == 3)
        try successResult(of: sent[3])
        try expectNoResult(sent[4])
        sent[5].cancel()
        #expect(queue.removeAll() == [2, 3] && queue.elements == [4, 6])
        #expect(queue.removeAll() == [4, 6] && queue.removeAll().isEmpty)
        for (number, sent) in sent.enumerated() where number != 5 { try successResult(of: sent) }
    }

    @Test("Q4: in a queue of size 0 there is nothing to remove: what is sent waits on")
    func rendezvous() throws {
        let queue = DeferredQueue<Int>(size: 0)
        let sent = queue.send(1)
        #expect(queue.removeAll().isEmpty && queue.sendingCount == 1)
        try expectNoResult(sent)
        #expect(queue.tryGet() == 1)
    }

    @Test("Q3: after finish(), removeAll ends the workers, and lets in what was sent before")
    func finished() throws {
        let queue = DeferredQueue<Int>(size: 1)
        let (gate, seen) = (Deferred<Void>(), SharedLog<Int>())
        let worker = queue.run { number in
            seen.add(number)
            return gate
        }
        try queue.put(0)
        let sent = [1, 2].map { queue.send($0) }
        queue.finish()
        #expect(queue.removeAll() == [1] && queue.removeAll() == [2])
        gate.resolve()
        try successResult(of: worker)
        for sent in sent { try successResult(of: sent) }
        #expect(seen.all == [0])
    }

    @Test("V2: an element that comes back after removeAll is there")
    func comesBack() throws {
        let queue = DeferredQueue<Int>()
        let dispatcher = ManualDispatcher()
        try queue.put(1)
        let taken = queue.get().done(on: dispatcher) { _ in }
        #expect(queue.removeAll().isEmpty)
        taken.cancel()
        dispatcher.run()
        #expect(queue.elements == [1])
    }

    @Test("A2: what was removed is released with the array")
    func released() throws {
        let tracker = LeakTracker()
        let queue = DeferredQueue<LeakTracker.Tracked>()
        for _ in 0..<3 { try queue.put(tracker.begin()) }
        do {
            let removed = queue.removeAll()
            #expect(removed.count == 3 && tracker.alive == 3)
            withExtendedLifetime(removed) {}
        }
        #expect(tracker.alive == 0)
    }

    @Test("T1: elements are put, sent, got, removed and cancelled by many threads: each is received once")
    func threads() throws {
        for _ in 0..<30 {
            let queue = DeferredQueue<Int>(size: 2)
            let (seen, unsent) = (SharedLog<Int>(), SharedLog<Int>())
            Rules.onThreads(4) { thread in
                for number in (0..<50).map({ thread * 100 + $0 }) {
                    switch thread {
                    case 0: for number in queue.removeAll() { seen.add(number) }
                    case 1:
                        let taken = queue.get().done { seen.add($0) }
                        taken.fail { _ in }
                        if number % 3 == 0 { taken.cancel() }
                    default:
                        let sent = queue.send(number)
                        sent.fail { _ in unsent.add(number) }
                        if number % 5 == 0 { sent.cancel() }
                    }
                }
            }
            while case let rest = queue.removeAll(), !rest.isEmpty { for number in rest { seen.add(number) } }
            let all = seen.all + unsent.all
            #expect(Set(all).count == all.count && queue.sendingCount == 0)
            #expect(Set(all).subtracting(200..<400).isEmpty)
            queue.finish()
        }
    }
}
