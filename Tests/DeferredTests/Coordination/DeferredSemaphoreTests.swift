import Deferred
import DeferredTesting
import Dispatch
import Foundation
import TestSupport
import Testing

@Suite("DeferredSemaphore and DeferredLock", .watchdog)
struct DeferredSemaphoreTests {
    let log = SharedLog<String>()

    @Test("grants as many permits as its limit, the rest in the order of the calls")
    func order() throws {
        let semaphore = DeferredSemaphore(2)
        let works = (0..<5).map { _ in Deferred<Int>() }
        let runs = works.enumerated().map { number, work in
            semaphore.run {
                log.add("\(number)")
                return work
            }
        }
        #expect(log.all == ["0", "1"])
        #expect(semaphore.availableCount == 0)
        #expect(semaphore.waitingCount == 3)
        works[1].resolve(10)
        #expect(log.all == ["0", "1", "2"])
        #expect(try successResult(of: runs[1]) == 10)
        works[0].resolve(0)
        works[2].resolve(0)
        #expect(log.all == ["0", "1", "2", "3", "4"])
        works[3].resolve(0)
        works[4].resolve(0)
        #expect(semaphore.availableCount == 2)
        for run in runs { try successResult(of: run) }
    }

    @Test("run releases the permit on every path: value, error, throw, cancel, abandonment")
    func releases() throws {
        let lock = DeferredLock()
        try successResult(of: lock.syncRun { 1 })
        #expect(try failureResult(of: lock.syncRun { throw TestError() }) is TestError)
        #expect(try failureResult(of: lock.run { Deferred<Int>.rejected(TestError()) }) is TestError)
        #expect(!lock.isLocked)

        let work = Deferred<Int>()
        let cancelled = lock.run { work }
        #expect(lock.isLocked)
        cancelled.cancel()
        #expect(try failureResult(of: work) is CancellationError)
        #expect(!lock.isLocked)

        let abandoned = lock.run { Deferred<Int>() }
        #expect(try failureResult(of: abandoned) as? DeferredError == .abandoned)
        #expect(!lock.isLocked)
    }

    @Test("an asynchronous body has the permit until its Task has ended")
    func asynchronous() async throws {
        let lock = DeferredLock()
        let gate = Deferred<Int>()
        let first = lock.asyncRun { try await gate.value }
        let second = lock.syncRun { 2 }
        #expect(lock.waitingCount == 1)
        gate.resolve(1)
        #expect(try await first.value == 1)
        #expect(try await second.value == 2)
    }

    @Test("Q1: an asynchronous body that was cancelled has the permit until its Task has ended")
    func cancelledTask() async throws {
        let lock = DeferredLock()
        let (begins, ends) = (Deferred<Void>(), Deferred<Void>())
        let first = lock.asyncRun {
            begins.resolve()
            await withCheckedContinuation { task in ends.done { task.resume() } }
        }
        try await begins.value
        first.cancel()
        #expect(try failureResult(of: first) is CancellationError)
        let second = lock.syncRun { 2 }
        #expect(lock.waitingCount == 1)
        ends.resolve()
        #expect(try await second.value == 2)
    }

    @Test("the permit is released before callbacks further down run")
    func releasedFirst() throws {
        let lock = DeferredLock()
        let work = Deferred<Int>()
        let seen = lock.run { work }.map { _ in lock.isLocked }
        work.resolve(1)
        #expect(try successResult(of: seen) == false)
    }

    @Test("acquire: released once only, explicitly or when the permit is deallocated")
    func permits() throws {
        let semaphore = DeferredSemaphore(2)
        let permit = try successResult(of: semaphore.acquire())
        permit.release()
        permit.release()
        #expect(semaphore.availableCount == 2)
        do {
            let held = semaphore.tryAcquire()
            #expect(held != nil)
            #expect(semaphore.availableCount == 1)
            _ = held
        }
        #expect(semaphore.availableCount == 2)
    }

    @Test("Q1: tryAcquire does not overtake those who wait, where a permit is free and is yet to be granted")
    func tryAcquireInside() throws {
        let lock = DeferredLock()
        let held = lock.tryAcquire()
        let first = lock.acquire().done { permit in
            // Granted after this callback, to the one that waits.
            permit.release()
            #expect(lock.tryAcquire() == nil)
            log.add("first")
        }
        let second = lock.syncRun { log.add("second") }
        #expect(lock.tryAcquire() == nil)
        held?.release()
        #expect(lock.tryAcquire() != nil)
        #expect(log.all == ["first", "second"])
        try successResult(of: first)
        try successResult(of: second)
    }

    @Test("Q1, Q5: those who wait get their permits though the semaphore's handle was released")
    func releasedHandle() throws {
        var semaphore: DeferredSemaphore? = DeferredSemaphore(1)
        let gate = Deferred<Void>()
        let runs = (0..<3).map { number in
            semaphore!.run { () -> Deferred<Void> in
                log.add("\(number)")
                return number == 0 ? gate : .resolved()
            }
        }
        semaphore = nil
        gate.resolve()
        #expect(log.all == ["0", "1", "2"])
        for run in runs { try successResult(of: run) }
    }

    @Test("Q2: a permit for a waiter that is being cancelled passes to the next")
    func cancelledWaiter() throws {
        let lock = DeferredLock()
        let held = SpinLocked(lock.tryAcquire())
        let order = Deferred<Void>(canceller: { _ in held.withLock { $0.take() }?.release() })
        // Cancelling `first` cancels `order`, too, whose canceller releases the permit meanwhile.
        let first = gather(order, lock.syncRun { log.add("first") })
        let second = lock.syncRun { log.add("second") }
        first.cancel()
        #expect(log.all.last == "second")
        #expect(try failureResult(of: first) is CancellationError)
        try successResult(of: second)
        #expect(!lock.isLocked)
    }

    @Test("C5: a permit whose receiver was cancelled is released")
    func lostPermit() throws {
        let lock = DeferredLock()
        let dispatcher = ManualDispatcher()
        let taking = lock.acquire().done(on: dispatcher) { _ in log.add("never") }
        taking.cancel()
        dispatcher.run()
        #expect(try failureResult(of: taking) is CancellationError)
        #expect(!lock.isLocked)
        #expect(log.all.isEmpty)
    }

    @Test("F6: many waiting bodies that never wait themselves take no stack")
    func longLine() async throws {
        let lock = DeferredLock()
        let gate = Deferred<Int>()
        let first = lock.run { gate }
        let counter = SpinLocked(0)
        let runs = (0..<Extent.depth).map { _ in lock.syncRun { counter.withLock { $0 += 1 } } }
        try await onSmallStack { gate.resolve(1) }
        #expect(counter.withLock { $0 } == Extent.depth)
        #expect(!lock.isLocked)
        try successResult(of: first)
        try successResult(of: runs[Extent.depth - 1])
    }

    @Test("T1: permits in use never exceed the limit, whatever threads acquire, release and cancel")
    func threads() async throws {
        let semaphore = DeferredSemaphore(3)
        let inside = SpinLocked((now: 0, most: 0, total: 0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for number in 0..<500 {
                        if number % 7 == 0 { semaphore.acquire().cancel() }
                        let run = semaphore.asyncRun {
                            inside.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.total + 1) }
                            await Task.yield()
                            inside.withLock { $0.now -= 1 }
                        }
                        _ = await run.result
                    }
                }
            }
        }
        let (now, most, total) = inside.withLock { $0 }
        #expect(now == 0 && most <= 3 && total == 4000)
        #expect(semaphore.availableCount == 3 && semaphore.waitingCount == 0)
    }

    @Test("a limit below 1 is refused by name at every use")
    func invalidLimit() throws {
        let semaphore = DeferredSemaphore(0)
        let refused = semaphore.syncRun { log.add("never") }
        #expect(
            try failureResult(of: refused) as? DeferredError
                == .invalidArgument("a semaphore's limit must be 1 or more, is 0"))
        #expect(semaphore.tryAcquire() == nil)
        #expect(DeferredSemaphore(-3).availableCount == 0)
        #expect(log.all.isEmpty)
    }

    @Test("A2: the lock is deallocated with its last user, also when somebody waited")
    func lifetime() {
        weak var watched: DeferredLock?
        do {
            let lock = DeferredLock()
            watched = lock
            let work = Deferred<Int>()
            let first = lock.run { work }
            let second = lock.syncRun { 2 }
            second.cancel()
            let third = lock.syncRun { 3 }
            first.cancel()
            _ = third
            first.recover { _ in 0 }.done { _ in }
        }
        #expect(watched == nil)
    }
}

/// Runs `body` on a thread with a stack of 512 KiB.
func onSmallStack(_ body: @escaping @Sendable () -> Void) async throws {
    let done = Deferred<Void>()
    let thread = Thread {
        body()
        done.resolve()
    }
    thread.stackSize = 512 << 10
    thread.start()
    try await done.value
}
