import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

@Suite("DeferredQueue: rules Q1 to Q5", .watchdog)
struct QueueRules {
    let log = SharedLog<String>()

    // MARK: Q1, Q2

    @Test("Q2: an element that its worker did not receive returns to the head, also if full or finished")
    func elementReturns() throws {
        let queue = DeferredQueue<Int>(size: 1)
        var lost = (0..<2).map { _ in Deferred<Int>(queue.storage.next(isWorker: true, #fileID, #line)) }
        for number in 1...3 { try queue.put(number) }
        queue.finish()
        #expect(queue.elements == [3])
        lost.removeLast()
        #expect(queue.elements == [2, 3])
        lost.removeLast()
        #expect(queue.elements == [1, 2, 3])
    }

    @Test("Q2: an element that its worker did not receive is delivered to another that waits")
    func elementForAnother() throws {
        let queue = DeferredQueue<Int>()
        var lost: Deferred<Int>? = Deferred<Int>(queue.storage.next(isWorker: true, #fileID, #line))
        try queue.put(1)
        let waiting = queue.get()
        #expect(lost?.isSettled == true)
        lost = nil
        #expect(try successResult(of: waiting) == 1)
    }

    @Test("Q2: cancelling a busy worker leaves the elements in the queue")
    func busyWorker() throws {
        let queue = DeferredQueue<Int>()
        let busy = queue.run { _ in Deferred<Void>.never() }
        for number in 1...3 { try queue.put(number) }
        busy.cancel()
        #expect(queue.elements == [2, 3])
    }

    @Test("Q2: an element for a waiter that is being cancelled goes to the next, or stays at the head")
    func cancelledWaiter() throws {
        let queue = DeferredQueue<Int>()
        let putting = Deferred<Void>(canceller: { _ in try? queue.put(1) })
        let first = gather(putting, queue.get())
        let second = queue.get()
        first.cancel()
        #expect(try failureResult(of: first) is CancellationError)
        // Delivered to the first while that was not cancelled yet, or to the second.
        try queue.put(2)
        #expect(try [1, 2].contains(successResult(of: second)))
        #expect(queue.waitingCount == 0)
    }

    @Test("elements can be inspected, in order, and stay in the queue")
    func inspected() throws {
        let queue = DeferredQueue<Int>(size: 3)
        for number in 1...3 { try queue.put(number) }
        queue.send(4)
        #expect(queue.elements == [1, 2, 3] && queue.count == 3 && queue.sendingCount == 1)
        #expect(queue.tryGet() == 1)
        #expect(queue.elements == [2, 3, 4] && queue.sendingCount == 0)
    }

    // MARK: Q3, Q5

    @Test("Q3, Q-b: elements that were put before finish are performed, though the queue is released at once")
    func releasedAfterFinish() throws {
        let gates = (0..<5).map { _ in Deferred<Void>() }
        func start() throws -> Deferred<Void> {
            let jobs = DeferredQueue<Int>()
            let worker = jobs.run { number -> Deferred<Void> in
                log.add("\(number)")
                return gates[number]
            }
            for number in 0..<5 { try jobs.put(number) }
            jobs.finish()
            return worker
        }
        let worker = try start()
        for gate in gates {
            try expectNoResult(worker)
            gate.resolve()
        }
        #expect(log.all == ["0", "1", "2", "3", "4"])
        try successResult(of: worker)
    }

    @Test("Q3, Q5: without finish, too, workers deliver what was put or sent; then they are abandoned")
    func releasedWithoutFinish() throws {
        let gate = Deferred<Void>()
        let tracker = LeakTracker()
        let (worker, sent): (Deferred<Void>, [Deferred<Void>])
        do {
            let (jobs, object) = (DeferredQueue<Int>(size: 1), tracker.begin())
            worker = jobs.run { number -> Deferred<Void> in
                object.use()
                log.add("\(number)")
                return number == 1 ? gate : .resolved()
            }
            sent = (1...3).map { jobs.send($0) }
        }
        try expectNoResult(sent[2])
        gate.resolve()
        #expect(log.all == ["1", "2", "3"])
        for sent in sent { try successResult(of: sent) }
        #expect(try failureResult(of: worker) as? DeferredError == .abandoned)
        #expect(tracker.alive == 0)
    }

    @Test("Q3, U1: calls that wait end with .abandoned when the queue is released, which is not reported")
    func releasedWhileWaiting() throws {
        try expectNoUnhandledFailures {
            var queue: DeferredQueue<Int>? = DeferredQueue()
            var unused: Deferred<Int>? = queue!.get()
            let waiting = queue!.get()
            let worker = queue!.run { _ in }
            queue = nil
            #expect(unused?.isSettled == true)
            unused = nil
            for error in [try failureResult(of: waiting), try failureResult(of: worker)] {
                #expect(error as? DeferredError == .abandoned)
            }
        }
    }

    @Test("Q3, A2: elements that no worker is there for are released with the queue")
    func releasedElements() throws {
        let tracker = LeakTracker()
        var sent: Deferred<Void>?
        do {
            let queue = DeferredQueue<LeakTracker.Tracked>(size: 1)
            try queue.put(tracker.begin())
            sent = queue.send(tracker.begin())
        }
        #expect(tracker.alive == 0)
        #expect(try failureResult(of: #require(sent)) as? DeferredError == .abandoned)
    }

    // MARK: Q4

    @Test("Q4: send is resolved at once where there is room, and else when its element enters, in order")
    func send() throws {
        let queue = DeferredQueue<Int>(size: 2)
        let sent = (0..<5).map { queue.send($0) }
        #expect(sent.map(\.isSettled) == [true, true, false, false, false])
        #expect(queue.sendingCount == 3)
        #expect(throws: DeferredError.queueOverflow(size: 2)) { try queue.put(9) }
        #expect(queue.tryGet() == 0)
        #expect(sent.map(\.isSettled) == [true, true, true, false, false])
        #expect(try successResult(of: queue.get()) == 1)
        #expect(sent.map(\.isSettled) == [true, true, true, true, false])
        #expect((0..<3).map { _ in queue.tryGet() } == [2, 3, 4])
        for sent in sent { try successResult(of: sent) }
        #expect(queue.tryGet() == nil)
    }

    @Test("Q4: put and tryGet do not overtake calls of send that wait, also in a queue of size zero")
    func sendFirst() throws {
        let queue = DeferredQueue<Int>(size: 0)
        let sent = [queue.send(1), queue.send(2)]
        #expect(throws: DeferredError.queueOverflow(size: 0)) { try queue.put(3) }
        #expect(queue.tryGet() == 1)
        #expect(sent.map(\.isSettled) == [true, false])
        #expect(try successResult(of: queue.get()) == 2)
        let waiting = queue.get()
        let last = queue.send(4)
        #expect(!last.isSettled, "nobody has received it (V2)")
        #expect(try successResult(of: waiting) == 4)
        #expect(last.isSettled)
        #expect(queue.count == 0 && queue.sendingCount == 0 && queue.waitingCount == 0)
    }

    @Test("Q4: a cancelled send withdraws its element, and leaves the others in order")
    func sendCancelled() throws {
        let queue = DeferredQueue<Int>(size: 1)
        let tracker = LeakTracker()
        let sent = (0..<4).map { number in queue.send(number) }
        sent[1].cancel()
        sent[3].cancel()
        sent[0].cancel()
        #expect(try failureResult(of: sent[1]) is CancellationError)
        #expect(queue.elements == [0] && queue.sendingCount == 1)
        queue.finish()
        #expect([queue.tryGet(), queue.tryGet(), queue.tryGet()] == [0, 2, nil])
        try successResult(of: sent[0])
        try successResult(of: sent[2])
        let objects = DeferredQueue<LeakTracker.Tracked>(size: 0)
        objects.send(tracker.begin()).cancel()
        #expect(tracker.alive == 0)
    }

    @Test("Q4: a send whose cancel comes while its element enters has either sent it or withdrawn it")
    func sendCancelledWhileEntering() throws {
        let queue = DeferredQueue<Int>(size: 1)
        try queue.put(0)
        let taking = Deferred<Void>(canceller: { _ in _ = queue.tryGet() })
        let sending = queue.send(1)
        // Which of the two is cancelled first is up to the list.
        DeferredList([taking, sending]).results().cancel()
        let isSent = (try? sending.currentResult?.get()) != nil
        #expect(queue.elements == (isSent ? [1] : []))
    }

    @Test("Q3, Q4: after finish, send fails with .finished; what was sent before still enters")
    func sendFinished() throws {
        let queue = DeferredQueue<Int>(size: 1)
        try queue.put(1)
        let before = queue.send(2)
        queue.finish()
        #expect(try failureResult(of: queue.send(3)) as? DeferredError == .finished)
        let worker = queue.run { log.add("\($0)") }
        #expect(log.all == ["1", "2"])
        try successResult(of: before)
        try successResult(of: worker)
    }

    @Test("Q4: a producer that waits for each send is as fast as its workers, in constant memory")
    func backpressure() throws {
        let queue = DeferredQueue<Int>(size: 2)
        let jobs = (0..<10).map { _ in Deferred<Void>() }
        @Sendable func produce(_ number: Int) -> Deferred<Void> {
            if number == jobs.count { return .resolved() }
            return queue.send(number).then {
                log.add("sent \(number)")
                return produce(number + 1)
            }
        }
        let producer = produce(0)
        let worker = queue.run { jobs[$0] }
        #expect(log.all.count == 3)
        for (number, job) in jobs.enumerated() {
            job.resolve()
            #expect(log.all.count == min(number + 4, 10))
        }
        try successResult(of: producer)
        queue.finish()
        try successResult(of: worker)
    }

    @Test("negative limits are refused by name in every use")
    func invalidLimits() throws {
        let error = DeferredError.invalidArgument("a queue's size must not be negative, is -1")
        let queue = DeferredQueue<Int>(size: -1)
        #expect(try failureResult(of: queue.send(1)) as? DeferredError == error)
        #expect(try failureResult(of: queue.get()) as? DeferredError == error)
        #expect(try failureResult(of: queue.run { _ in }) as? DeferredError == error)
        #expect(throws: error) { try queue.put(1) }
        #expect(queue.tryGet() == nil)
        queue.finish()
        #expect(
            try failureResult(of: DeferredQueue<Int>(backlog: -2).get()) as? DeferredError
                == .invalidArgument("a queue's backlog must not be negative, is -2"))
    }
}
