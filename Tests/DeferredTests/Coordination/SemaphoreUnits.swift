import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

/// A semaphore whose limit changes, permits of several units, and those that wait and are rejected.
@Suite("DeferredSemaphore: units and limits", .watchdog)
struct SemaphoreUnits {
    let log = SharedLog<String>()

    /// Starts work that holds so many units until its Deferred is resolved.
    func begin(_ name: String, _ units: Int = 1, in semaphore: DeferredSemaphore) -> (
        work: Deferred<Int>, run: Deferred<Int>
    ) {
        let work = Deferred<Int>()
        let run = semaphore.run(units: units) {
            log.add(name)
            return work
        }
        // What is left when a test ends is abandoned.
        run.disownFailure()
        return (work, run)
    }

    @Test("Q1: a permit of several units waits for all of them, and is not overtaken by smaller ones")
    func largeFirst() throws {
        let semaphore = DeferredSemaphore(4)
        let (first, second) = (begin("a", 2, in: semaphore), begin("b", 1, in: semaphore))
        let (large, small) = (begin("large", 3, in: semaphore), begin("small", 1, in: semaphore))
        #expect(semaphore.availableCount == 1 && semaphore.waitingCount == 2)
        #expect(semaphore.tryAcquire() == nil, "one unit is free, and another caller waits")
        second.work.resolve(1)
        #expect(log.all == ["a", "b"])
        first.work.resolve(1)
        #expect(log.all == ["a", "b", "large", "small"])
        large.work.resolve(1)
        small.work.resolve(1)
        #expect(semaphore.availableCount == 4)
        for run in [first, second, large, small] { try successResult(of: run.run) }
    }

    @Test("Q2: a large one at the head that is cancelled lets those in that waited behind it")
    func largeCancelled() throws {
        let semaphore = DeferredSemaphore(3)
        let held = semaphore.tryAcquire(units: 2)
        let large = begin("large", 2, in: semaphore)
        let small = begin("small", 1, in: semaphore)
        #expect(log.all.isEmpty)
        large.run.cancel()
        #expect(log.all == ["small"])
        #expect(held?.units == 2 && semaphore.availableCount == 0)
        small.work.resolve(1)
        #expect(semaphore.availableCount == 1)
        withExtendedLifetime(held) {}
    }

    @Test("C7: those behind a large one that are cancelled with it do not begin", arguments: [false, true])
    func largeCancelledWithOthers(isReversed: Bool) {
        let semaphore = DeferredSemaphore(3)
        let held = semaphore.tryAcquire(units: 2)
        let runs = [2, 1, 1].map { begin("\($0)", $0, in: semaphore).run }
        let outsider = begin("outsider", 1, in: semaphore)
        DeferredList(isReversed ? runs.reversed() : runs).results().cancel()
        #expect(log.all == ["outsider"])
        #expect(semaphore.waitingCount == 0)
        withExtendedLifetime((held, outsider.work)) {}
    }

    @Test("more units than the limit, and less than 1, are refused by name at once; tryAcquire returns nil")
    func badUnits() throws {
        let semaphore = DeferredSemaphore(2)
        #expect(
            try failureResult(of: semaphore.acquire(units: 3)) as? DeferredError
                == .invalidArgument("a permit of 3 units exceeds the semaphore's limit of 2"))
        for units in [0, -1, Int.min] {
            #expect(
                try failureResult(of: begin("never", units, in: semaphore).run) as? DeferredError
                    == .invalidArgument("the units of a permit must be 1 or more, are \(units)"))
            #expect(semaphore.tryAcquire(units: units) == nil)
        }
        #expect(semaphore.tryAcquire(units: .max) == nil && semaphore.tryAcquire(units: 3) == nil)
        #expect(semaphore.availableCount == 2 && semaphore.waitingCount == 0 && log.all.isEmpty)
    }

    @Test("a greater limit admits those that wait, in order, before the call that sets it returns")
    func raised() {
        let semaphore = DeferredSemaphore(1)
        let runs = (0..<5).map { begin("\($0)", in: semaphore) }
        semaphore.limit = 3
        #expect(log.all == ["0", "1", "2"] && semaphore.limit == 3 && semaphore.waitingCount == 2)
        semaphore.limit += 100
        #expect(log.all.count == 5 && semaphore.availableCount == 98)
        withExtendedLifetime(runs) {}
    }

    @Test("a smaller limit takes effect as permits are released")
    func lowered() {
        let semaphore = DeferredSemaphore(4)
        let runs = (0..<7).map { begin("\($0)", in: semaphore) }
        semaphore.limit = 2
        #expect(semaphore.availableCount == 0 && semaphore.waitingCount == 3)
        runs[0].work.resolve(1)
        runs[1].work.resolve(1)
        #expect(log.all.count == 4, "two are in progress, as many as may be")
        runs[2].work.resolve(1)
        #expect(log.all.last == "4")
        semaphore.limit = 1
        runs[3].work.resolve(1)
        #expect(log.all.count == 5)
        runs[4].work.resolve(1)
        #expect(log.all.last == "5")
        withExtendedLifetime(runs) {}
    }

    @Test("a limit below what a caller waits for fails that caller at once, and the next one follows")
    func loweredBelowWaiting() throws {
        let semaphore = DeferredSemaphore(4)
        let first = begin("first", 2, in: semaphore)
        let large = begin("large", 4, in: semaphore)
        let small = begin("small", 1, in: semaphore)
        semaphore.limit = 3
        #expect(
            try failureResult(of: large.run) as? DeferredError
                == .invalidArgument("a permit of 4 units exceeds the semaphore's limit of 3"))
        #expect(log.all == ["first", "small"])
        withExtendedLifetime((first, small)) {}
    }

    @Test(
        "a limit below 1 fails all that wait and come, until it is valid again", arguments: [0, -1, Int.min])
    func invalid(limit: Int) throws {
        let semaphore = DeferredSemaphore(2)
        let (first, second) = (begin("a", 2, in: semaphore), begin("b", in: semaphore))
        semaphore.limit = limit
        let fault = DeferredError.invalidArgument("a semaphore's limit must be 1 or more, is \(limit)")
        #expect(try failureResult(of: second.run) as? DeferredError == fault)
        #expect(try failureResult(of: begin("c", in: semaphore).run) as? DeferredError == fault)
        #expect(semaphore.tryAcquire() == nil && semaphore.availableCount == 0)
        semaphore.limit = .max
        _ = begin("d", .max - 2, in: semaphore)
        #expect(log.all == ["a", "d"])
        first.work.resolve(1)
        #expect(semaphore.availableCount == Int.max)
    }

    @Test("rejectWaiting fails all that wait, in order, and none of those that have a permit or come later")
    func rejectWaiting() throws {
        let semaphore = DeferredSemaphore(1)
        semaphore.rejectWaiting(with: TestError())
        let (first, others) = (begin("first", in: semaphore), (1..<4).map { begin("\($0)", in: semaphore) })
        let later = SpinLocked<Deferred<Int>?>(nil)
        for (number, other) in others.enumerated() {
            other.run.fail { error in
                log.add("rejected \(number)")
                #expect(error is TestError && semaphore.waitingCount == number)
                let again = semaphore.syncRun { number }
                if number == 0 { later.withLock { $0 = again } }
            }
        }
        semaphore.rejectWaiting(with: TestError())
        #expect(log.all == ["first", "rejected 0", "rejected 1", "rejected 2"])
        first.work.resolve(1)
        #expect(try successResult(of: #require(later.withLock { $0 })) == 0)
        #expect(semaphore.availableCount == 1)
    }

    @Test("U1: a CancellationError for those that wait is not reported, another error is")
    func rejectionReports() {
        let lock = DeferredLock()
        let held = lock.tryAcquire()
        for (error, count) in [(CancellationError() as any Error, 0), (TestError(), 1)] {
            let seen = diagnostics {
                lock.syncRun { log.add("never") }
                lock.rejectWaiting(with: error)
            }
            #expect(seen.count == count && log.all.isEmpty)
        }
        withExtendedLifetime(held) {}
    }

    @Test("each form takes units: syncRun, asyncRun, and those of the main actor")
    @MainActor func forms() async throws {
        let semaphore = DeferredSemaphore(5)
        let counts = [
            semaphore.syncRun(units: 2) { semaphore.availableCount },
            semaphore.asyncRun(units: 3) { semaphore.availableCount },
            semaphore.run(units: 4, on: MainActor.self) { Deferred.resolved(semaphore.availableCount) },
            semaphore.syncRun(units: 5, on: MainActor.self) { semaphore.availableCount },
        ]
        #expect(try await DeferredList(counts).values().value == [3, 2, 1, 0])
        #expect(semaphore.availableCount == 5)
    }

    @Test("T1: units in use never exceed the greatest limit, and all are there in the end")
    func threads() async {
        let semaphore = DeferredSemaphore(4)
        let inside = SpinLocked((now: 0, most: 0))
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<6 {
                group.addTask {
                    for number in 0..<300 {
                        if number % 11 == 0 { semaphore.limit = 3 + (number + thread) % 3 }
                        if number % 17 == 0 { semaphore.rejectWaiting(with: CancellationError()) }
                        let units = 1 + number % 3
                        if number % 5 == 0 { semaphore.acquire(units: units).cancel() }
                        let run = semaphore.asyncRun(units: units) {
                            inside.withLock { $0 = ($0.now + units, max($0.most, $0.now + units)) }
                            await Task.yield()
                            inside.withLock { $0.now -= units }
                        }
                        _ = await run.result
                    }
                }
            }
        }
        let (now, most) = inside.withLock { $0 }
        #expect(now == 0 && most <= 5)
        semaphore.limit = 5
        #expect(semaphore.availableCount == 5 && semaphore.waitingCount == 0)
    }
}
