import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

@Suite("DeferredQueue: finish and workers", .watchdog)
struct QueueFinishTests {
    let queue = DeferredQueue<Int>()
    let log = SharedLog<String>()

    @Test("finish: queued elements are still delivered, then get fails with .finished")
    func deliversRest() throws {
        try queue.put(1)
        try queue.put(2)
        #expect(!queue.isFinished)
        queue.finish()
        queue.finish()
        #expect(queue.isFinished && queue.count == 2)
        #expect(try successResult(of: queue.get()) == 1)
        #expect(queue.tryGet() == 2)
        #expect(try failureResult(of: queue.get()) as? DeferredError == .finished)
        #expect(queue.tryGet() == nil)
    }

    @Test("finish: calls that wait fail with .finished, in order, before it returns")
    func failsWaiters() throws {
        let waiting = (0..<3).map { number in
            queue.get().recover { _ in
                log.add("\(number)"); return 0
            }
        }
        let cancelled = queue.get()
        cancelled.cancel()
        queue.finish()
        #expect(log.all == ["0", "1", "2"])
        #expect(queue.waitingCount == 0)
        for waiting in waiting { try successResult(of: waiting) }
        #expect(try failureResult(of: cancelled) is CancellationError)
    }

    @Test("put after finish is refused with .finished, which says so in words; nothing is kept")
    func putAfterFinish() throws {
        queue.finish()
        let error = #expect(throws: DeferredError.self) { try queue.put(1) }
        #expect(error == .finished)
        #expect(
            error?.description
                == "finished: the queue has ended; it accepts no further elements, and none is left in it")
        #expect(queue.count == 0)
    }

    @Test("F5: a callback of a waiter may put and get while the queue is being finished")
    func usedInside() throws {
        queue.get().fail { _ in
            #expect(throws: DeferredError.finished) { try queue.put(1) }
            queue.get().fail { log.add("\($0)") }
            queue.finish()
        }
        queue.get().fail { _ in log.add("second") }
        queue.finish()
        #expect(log.all.count == 2 && log.all.contains("second"))
    }

    @Test("U1: a released queue's workers report its abandonment only if something waits for them")
    func abandonedWorker() {
        for isAwaited in [false, true] {
            let reports = diagnostics {
                let queue = DeferredQueue<Int>()
                let workers = [queue.run { _ in }, queue.asyncRun { _ in }]
                if isAwaited { for worker in workers { worker.done {} } }
            }
            #expect(reports.count == (isAwaited ? 2 : 0), "\(reports)")
        }
    }

    @Test("a job that fails does not end the worker, whatever its error; the queue's end does")
    func jobErrors() throws {
        let errors: [any Error] = [DeferredError.finished, CancellationError(), TestError()]
        for number in 0..<3 { try queue.put(number) }
        var worker: Deferred<Void>?
        let reports = diagnostics {
            worker = queue.run { number -> Deferred<Void> in
                log.add("\(number)")
                if number == 2 { throw errors[number] }
                return .rejected(errors[number])
            }
        }
        #expect(log.all == ["0", "1", "2"])
        // A cancellation is not reported.
        #expect(reports.count == 2 && reports[1].description.contains("TestError"))
        #expect(reports.allSatisfy { $0.description.contains("QueueFinishTests.swift") })
        try expectNoResult(try #require(worker))
        queue.finish()
        try successResult(of: try #require(worker))
    }

    @Test("stopsOnFailure: the first failure is the worker's, and the rest stays in the queue")
    func stopsOnFailure() throws {
        for number in 0..<5 { try queue.put(number) }
        try expectNoUnhandledFailures {
            let worker = queue.run(stopsOnFailure: true) { number in if number == 2 { throw TestError() } }
            let error = try failureResult(of: worker)
            #expect(error is TestError)
        }
        #expect(queue.count == 2)
    }

    @Test("eight asynchronous workers survive failing jobs and end with the queue")
    func asynchronousWorkers() async throws {
        let done = SpinLocked<[Int]>([])
        let reports = SpinLocked(0)
        try await DeferredDiagnostics.withHandler({ _ in reports.withLock { $0 += 1 } }) {
            let workers = (0..<8).map { _ in
                queue.asyncRun { number in
                    await Task.yield()
                    if number % 10 == 0 { throw TestError(number: number) }
                    done.withLock { $0.append(number) }
                }
            }
            for number in 0..<200 { try queue.put(number) }
            queue.finish()
            for worker in workers { try await worker.value }
        }
        #expect(done.withLock { $0.sorted() } == (0..<200).filter { $0 % 10 != 0 })
        #expect(reports.withLock { $0 } == 20)
    }

    @Test("C4: a cancelled worker ends with its job's answer, and reports nothing")
    func cancelledWorker() throws {
        let job = Deferred<Void>(canceller: { $0.reject(TestError(number: 7)) })
        try expectNoUnhandledFailures {
            let worker = queue.run { _ in job }
            try queue.put(1)
            try queue.put(2)
            worker.cancel()
            let error = try failureResult(of: worker)
            #expect(error as? TestError == TestError(number: 7))
        }
        #expect(queue.count == 1)
    }
}
