import Deferred
import DeferredTesting
import TestSupport
import Testing

@Suite("DeferredQueue", .watchdog)
struct DeferredQueueTests {
    let log = SharedLog<String>()

    @Test("elements are delivered in order, to callers in the order in which they asked")
    func order() throws {
        let queue = DeferredQueue<Int>()
        try queue.put(1)
        try queue.put(2)
        #expect(queue.count == 2)
        #expect(try successResult(of: queue.get()) == 1)
        #expect(queue.tryGet() == 2)
        #expect(queue.tryGet() == nil)
        let (first, second) = (queue.get(), queue.get())
        #expect(queue.waitingCount == 2)
        try queue.put(3)
        #expect(try successResult(of: first) == 3)
        try expectNoResult(second)
        try queue.put(4)
        #expect(try successResult(of: second) == 4)
        #expect(queue.count == 0 && queue.waitingCount == 0)
    }

    @Test(
        "a full queue throws queueOverflow and keeps nothing; one with a size of zero delivers to waiting callers"
    )
    func overflow() throws {
        let queue = DeferredQueue<Int>(size: 1)
        try queue.put(1)
        #expect(throws: DeferredError.queueOverflow(size: 1)) { try queue.put(2) }
        #expect(queue.count == 1)
        let direct = DeferredQueue<Int>(size: 0)
        #expect(throws: DeferredError.queueOverflow(size: 0)) { try direct.put(1) }
        let waiting = direct.get()
        try direct.put(2)
        #expect(try successResult(of: waiting) == 2)
    }

    @Test("one waiting call too many fails with queueUnderflow")
    func underflow() throws {
        let queue = DeferredQueue<Int>(backlog: 1)
        let first = queue.get()
        #expect(try failureResult(of: queue.get()) as? DeferredError == .queueUnderflow(backlog: 1))
        try queue.put(1)
        #expect(try successResult(of: first) == 1)
        try queue.put(2)
        #expect(try successResult(of: queue.get()) == 2)
    }

    @Test("run takes one after another, each when the one before is done")
    func run() throws {
        let queue = DeferredQueue<Int>()
        let works = [Deferred<Void>(), Deferred<Void>()]
        let worker = queue.run { number -> Deferred<Void> in
            log.add("\(number)")
            return works[number]
        }
        try queue.put(0)
        try queue.put(1)
        #expect(log.all == ["0"])
        works[0].resolve()
        #expect(log.all == ["0", "1"])
        works[1].resolve()
        try expectNoResult(worker)
        #expect(queue.waitingCount == 1)
        worker.cancel()
        #expect(try failureResult(of: worker) is CancellationError)
        #expect(queue.waitingCount == 0)
    }

    @Test("C5: a worker that never waits stops when it is cancelled from inside")
    func cancelBusyRun() throws {
        let queue = DeferredQueue<Int>()
        let holder = SpinLocked<Deferred<Void>?>(nil)
        let start = Deferred<Void>()
        let worker = start.then {
            queue.run { number in if number == 3 { holder.withLock { $0 }?.cancel() } }
        }
        holder.withLock { $0 = worker }
        for number in 0..<10 { try queue.put(number) }
        start.resolve()
        #expect(try failureResult(of: worker) is CancellationError)
        #expect(queue.waitingCount == 0)
    }

    @Test("F6, L6: many elements, there before or one by one, take no stack")
    func manyElements() async throws {
        let queue = DeferredQueue<Int>()
        let sum = SpinLocked(0)
        for _ in 0..<Extent.depth { try queue.put(1) }
        try await onSmallStack {
            let worker = queue.run { number in sum.withLock { $0 += number } }
            for _ in 0..<Extent.depth { try? queue.put(1) }
            worker.cancel()
        }
        #expect(sum.withLock { $0 } == 2 * Extent.depth)
    }
}
