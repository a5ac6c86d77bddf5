import Deferred
import DeferredTesting
import TestSupport
import Testing

/// C7 where it needs the engine: a cancel of several marks all before any canceller runs, so that what the end of one
/// allows finds that those who wait are about to leave.
@Suite("C7: a cancel of several reaches those who wait", .watchdog)
struct CancelOfSeveral {
    let log = SharedLog<String>()
    let resolvers = SharedLog<Deferred<Int>.Resolver>()

    /// The ways to cancel several Deferreds at once.
    enum Way: CaseIterable, Sendable {
        case results, values, first, list, gather, bag, remaining, follow, nested

        func cancel(_ deferreds: [Deferred<Int>]) {
            switch self {
            case .results: DeferredList(deferreds).results().cancel()
            case .values: DeferredList(deferreds).values().map { $0.count }.cancel()
            case .first: DeferredList(deferreds).first().cancel()
            case .list: DeferredList(deferreds).cancel()
            case .gather:
                // Two halves, of which the first has what is in progress.
                let half = deferreds.count / 2
                Deferred.gathered(Array(deferreds[..<half]), Array(deferreds[half...])).cancel()
            case .bag:
                let bag = CancelBag()
                for deferred in deferreds { deferred.store(in: bag) }
            case .remaining:
                let end = Deferred<Int>()
                let first = DeferredList([end] + deferreds, cancelsRemaining: true).first()
                end.resolve(0)
                withExtendedLifetime(first) {}
            case .follow:
                let source = Deferred<Int>()
                for deferred in deferreds { source.follow(deferred) }
                source.cancel()
            case .nested:
                let lists = stride(from: 0, to: deferreds.count, by: 6).map { start in
                    DeferredList(deferreds[start..<min(start + 6, deferreds.count)]).results()
                }
                DeferredList(lists.map { list in Deferred.resolved().then { list } }).values().cancel()
            }
        }
    }

    /// Work whose canceller completes its Deferred, as that of a data source does.
    func work(_ number: Int) -> Deferred<Int> {
        log.add("\(number)")
        let (deferred, resolver) = Deferred<Int>.withResolver(canceller: { $0.reject(CancellationError()) })
        resolvers.add(resolver)
        return deferred
    }

    @Test("C7, Q-a: no body that waits for a permit starts", arguments: Way.allCases)
    func semaphore(way: Way) throws {
        let semaphore = DeferredSemaphore(2)
        let runs = (0..<36).map { number in semaphore.run { work(number) } }
        way.cancel(runs)
        #expect(log.all == ["0", "1"])
        #expect(runs.allSatisfy { $0.isSettled })
        #expect(semaphore.availableCount == 2 && semaphore.waitingCount == 0)
    }

    @Test(
        "C7: not even those that stand before the work in progress, or behind further steps",
        arguments: Way.allCases)
    func semaphoreReversed(way: Way) throws {
        let lock = DeferredLock()
        let runs = (0..<36).map { number in
            lock.run { work(number) }.map { $0 }.recover { error in throw error }.timeout(
                .seconds(9), timer: ManualClock())
        }
        way.cancel(runs.reversed())
        #expect(log.all == ["0"])
        #expect(!lock.isLocked && lock.waitingCount == 0)
    }

    @Test("C7: an outsider who waits gets the permit", arguments: Way.allCases)
    func outsider(way: Way) throws {
        let lock = DeferredLock()
        let first = lock.run { work(0) }
        let outsider = lock.run { work(100) }
        let others = (1..<9).map { number in lock.run { work(number) } }
        way.cancel([first] + others)
        #expect(log.all == ["0", "100"])
        try expectNoResult(outsider)
        #expect(lock.waitingCount == 0)
        outsider.cancel()
    }

    @Test("C7: a permit that a canceller releases itself admits none of them", arguments: Way.allCases)
    func explicitRelease(way: Way) throws {
        let lock = DeferredLock()
        let held = SpinLocked(lock.tryAcquire())
        let holder = Deferred<Int>(canceller: { _ in held.withLock { $0.take() }?.release() })
        let waiting = (0..<9).map { number in lock.run { work(number) } }
        way.cancel([holder] + waiting)
        #expect(log.all.isEmpty)
        #expect(!lock.isLocked && lock.waitingCount == 0)
    }

    @Test("C7: a finalizer runs when all have been reached", arguments: Way.allCases)
    func finalizer(way: Way) throws {
        let deferreds = (0..<9).map { _ in Deferred<Int>() }
        for (number, deferred) in deferreds.enumerated() {
            deferred.finally { _ in
                log("\(number)")
                for other in deferreds where !other.isSettled { other.resolve(number) }
            }
        }
        way.cancel(deferreds)
        for deferred in deferreds { #expect(try failureResult(of: deferred) is CancellationError) }
        #expect(log.all.sorted() == (0..<9).map { "\($0)" })
    }

    @Test(
        "C7: an element that a canceller puts goes to no worker, and no caller, that is cancelled with it",
        arguments: Way.allCases)
    func queue(way: Way) throws {
        let queue = DeferredQueue<Int>()
        let source = Deferred<Int>(canceller: { _ in try? queue.put(7) })
        let workers = (0..<4).map { _ in queue.run { work($0) }.map { 0 } }
        way.cancel([source] + workers + [queue.get()])
        #expect(log.all.isEmpty)
        #expect(queue.elements == [7] && queue.waitingCount == 0)
    }

    @Test(
        "C7: room that a canceller makes lets no call of send enter that is cancelled with it",
        arguments: Way.allCases)
    func send(way: Way) throws {
        let queue = DeferredQueue<Int>(size: 1)
        try queue.put(0)
        let taking = Deferred<Int>(canceller: { _ in _ = queue.tryGet() })
        let sent = (1..<5).map { number in queue.send(number).map { number } }
        let outsider = queue.send(100)
        way.cancel([taking] + sent)
        #expect(queue.elements == [100] && queue.sendingCount == 0)
        try successResult(of: outsider)
    }

    @Test("C7: retries whose attempts share a lock make no further attempt", arguments: Way.allCases)
    func retries(way: Way) throws {
        let (lock, clock) = (DeferredLock(), ManualClock())
        let tries = (0..<9).map { number in
            Deferred.retry(attempts: 5, delay: .none, timer: clock) { lock.run { work(number) } }
        }
        way.cancel(tries)
        clock.advance(by: .seconds(1))
        #expect(log.all == ["0"] && clock.scheduled.isEmpty)
    }

    // MARK: The rest, after `cancelsRemaining`

    /// What stands between the work that has a permit and the list.
    enum Path: CaseIterable, Sendable {
        case none, steps, nested, cache, limitedList, retry, worker

        func input(_ number: Int, _ run: @escaping @Sendable () -> Deferred<Int>) throws -> Deferred<Int> {
            switch self {
            case .none: return run()
            case .steps: return run().map { $0 }.mapError { $0 }.timeout(.seconds(9), timer: ManualClock())
            case .nested: return DeferredList([Deferred.resolved().then(run)]).values().map { $0[0] }
            case .cache: return DeferredCache<Int, Int>().value(for: number, run)
            case .limitedList: return DeferredList([number], limit: 1) { _ in run() }.values().map { $0[0] }
            case .retry: return Deferred.retry(attempts: 1, run)
            case .worker:
                let queue = DeferredQueue<Int>()
                try queue.put(number)
                return queue.run(stopsOnFailure: true) { _ in run() }.map { 0 }
            }
        }
    }

    @Test(
        "C7, D3: of those that wait for the permit of the one that decides a list, the list cancels all first",
        arguments: Path.allCases, [1, 2])
    func remaining(path: Path, limit: Int) throws {
        let semaphore = DeferredSemaphore(limit)
        let inputs = try (0..<9).map { number in try path.input(number) { semaphore.run { work(number) } } }
        let outsider = semaphore.run { work(100) }
        let decided: Deferred<Void>
        if path == .worker {
            decided = DeferredList(inputs, cancelsRemaining: true).values().fail { _ in log.add("decided") }
            resolvers.all[0].reject(CancellationError())
        } else {
            decided = DeferredList(inputs, cancelsRemaining: true).first().done { _ in log.add("decided") }
            resolvers.all[0].resolve(7)
        }
        try successResult(of: decided)
        #expect(log.all == (0..<limit).map { "\($0)" } + ["decided", "100"])
        #expect(inputs.allSatisfy { $0.isSettled } && semaphore.waitingCount == 0)
        try expectNoResult(outsider)
        outsider.cancel()
        #expect(semaphore.availableCount == limit)
    }

    @Test(
        "C7, D3: also where the one that decides the list ends within the call that starts it",
        arguments: 0..<3)
    func remainingAfterSettled(kind: Int) throws {
        let lock = DeferredLock()
        let gate = Deferred<Int>()
        let holder = lock.run { gate }
        let decisive =
            switch kind {
            case 0: lock.run { Deferred.resolved(7) }
            case 1: lock.syncRun { 7 }
            default: lock.run { Deferred.resolved(1).then { _ in Deferred.resolved(7) } }
            }
        let first = DeferredList(
            [decisive] + (1..<4).map { number in lock.run { work(number) } }, cancelsRemaining: true
        )
        .first()
        gate.resolve(0)
        #expect(try successResult(of: first).value == 7 && successResult(of: holder) == 0)
        #expect(log.all.isEmpty && !lock.isLocked && lock.waitingCount == 0)
    }

    @Test(
        "C7: a permit that a canceller returns starts nothing that waits for it, wherever, and is cancelled too",
        arguments: Path.allCases, Way.allCases)
    func returnedPermit(path: Path, way: Way) throws {
        let semaphore = DeferredSemaphore(1)
        let held = SpinLocked(semaphore.tryAcquire())
        let holder = Deferred<Int>(canceller: { _ in held.withLock { $0.take() }?.release() })
        let waiting = try (0..<5).map { number in try path.input(number) { semaphore.run { work(number) } } }
        #expect(semaphore.waitingCount == 5)
        way.cancel([holder] + waiting)
        #expect(log.all.isEmpty)
        #expect(waiting.allSatisfy { $0.isSettled })
        #expect(semaphore.availableCount == 1 && semaphore.waitingCount == 0)
    }

    @Test("C7, D5: so does a list with a limit whose inputs wait for permits")
    func remainingOfLimitedList() throws {
        let lock = DeferredLock()
        let list = DeferredList(0..<9, limit: 4, cancelsRemaining: true) { number in
            lock.run { work(number) }
        }
        let first = list.first()
        resolvers.all[0].resolve(7)
        #expect(try successResult(of: first).value == 7)
        #expect(log.all == ["0"] && !lock.isLocked && lock.waitingCount == 0)
    }

    @Test("C7: a result that does not decide the list passes the permit on, before resolve returns")
    func undecided() throws {
        let lock = DeferredLock()
        let inputs = (0..<3).map { number in lock.run { work(number) } }
        let first = DeferredList(inputs, cancelsRemaining: true).first()
        resolvers.all[0].reject(CancellationError())
        #expect(log.all == ["0", "1"])
        resolvers.all[1].resolve(7)
        #expect(try successResult(of: first).value == 7)
        #expect(log.all == ["0", "1"] && !lock.isLocked)
    }

    // MARK: What the objects of this folder decide themselves

    @Test("C7: a list with a limit starts no further input, whichever way it is cancelled", arguments: 0..<4)
    func limitedList(way: Int) throws {
        let list = DeferredList(0..<1000, limit: 8, cancelsRemaining: true) { work($0) }
        let results = list.results()
        switch way {
        case 0: results.cancel()
        case 1: list.cancel()
        case 2: DeferredList([results.map { _ in }, list.values().map { _ in }]).results().cancel()
        default: gather(results, Deferred<Int>.never()).cancel()
        }
        #expect(results.isSettled)
        #expect(log.all.count == 8)
    }

    @Test("C7: callers who share a request of a cache, and cancel together, cancel it once and make no other")
    func cache() throws {
        let cache = DeferredCache<String, Int>()
        let asked = (0..<10).map { _ in cache.value(for: "a") { work(0) } }
        DeferredList(asked).results().cancel()
        #expect(asked.allSatisfy { $0.isSettled })
        #expect(log.all == ["0"] && cache.inProgressCount == 0)
    }

    @Test(
        "C7: requests of a cache that wait for a permit do not begin, whether one of them or another has it",
        arguments: [1, 2], [true, false])
    func permitsOfCache(depth: Int, isHeldByCached: Bool) throws {
        let semaphore = DeferredSemaphore(1)
        let caches = (0..<depth).map { _ in DeferredCache<Int, Int>() }
        func value(_ number: Int, _ caches: ArraySlice<DeferredCache<Int, Int>>) -> Deferred<Int> {
            guard let cache = caches.first else { return semaphore.run { work(number) } }
            return cache.value(for: number) { value(number, caches.dropFirst()) }
        }
        let first = isHeldByCached ? value(9, caches[...]) : semaphore.run { work(9) }
        let cached = (0..<5).map { value($0, caches[...]) }
        DeferredList([first] + cached + [semaphore.run { work(8) }]).values().cancel()
        #expect(log.all == ["9"])
        #expect(semaphore.availableCount == 1 && cached.allSatisfy { $0.isSettled })
        #expect(caches.allSatisfy { $0.inProgressCount == 0 })
    }

    @Test("C7: calls of which the latest is cancelled with the others start nothing")
    func latest() throws {
        let clock = ManualClock()
        let latest = DeferredLatest(debounce: .seconds(1), timer: clock)
        let calls = (0..<5).map { number in latest.run { work(number) } }
        DeferredList(calls).results().cancel()
        clock.advance(by: .seconds(2))
        #expect(log.all.isEmpty && clock.scheduled.isEmpty)
    }
}

extension Deferred<Int> {
    /// A `gather` of two lists.
    fileprivate static func gathered(_ first: [Deferred], _ second: [Deferred]) -> Deferred<Int> {
        gather(DeferredList(first).values(), DeferredList(second).values()).map { $0.count + $1.count }
    }
}
