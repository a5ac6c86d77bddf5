import Deferred
import DeferredTesting
import TestSupport
import Testing

/// C7 where the objects of this folder decide it themselves: a list with a limit, a cache, the latest call.
@Suite("C7: a cancel of several starts nothing")
struct CancelStartsNothing {
    let log = SharedLog<String>()
    let resolvers = SharedLog<Resolver<Int>>()

    /// Work whose canceller completes its Deferred, as that of a data source does.
    func work(_ number: Int) -> Deferred<Int> {
        log.add("starts \(number)")
        let (deferred, resolver) = Deferred<Int>.withResolver(canceller: { $0.reject(CancellationError()) })
        resolvers.add(resolver)
        return deferred
    }

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
        #expect(results.hasFired)
        #expect(log.all.count == 8)
    }

    @Test("C7: lists with a limit that are in a list start nothing when that is cancelled")
    func nestedLists() throws {
        let lists = (0..<5).map { outer in
            DeferredList(0..<100, limit: 2) { work(outer * 100 + $0) }.results()
        }
        DeferredList(lists).results().cancel()
        #expect(log.all.count == 10)
    }

    @Test("C7: callers who share a request of a cache, and cancel together, cancel it once and make no other")
    func cache() throws {
        let cache = DeferredCache<String, Int>()
        let asked = (0..<10).map { _ in cache.value(for: "a") { work(0) } }
        DeferredList(asked).results().cancel()
        #expect(asked.allSatisfy { $0.hasFired })
        #expect(log.all == ["starts 0"] && cache.underWayCount == 0)
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
        #expect(log.all == ["starts 9"])
        #expect(semaphore.available == 1 && cached.allSatisfy { $0.hasFired })
        #expect(caches.allSatisfy { $0.underWayCount == 0 })
    }

    @Test("C7: calls of which the latest is cancelled with the others start nothing")
    func latest() throws {
        let clock = ManualClock()
        let latest = DeferredLatest(debounce: .seconds(1), on: clock)
        let calls = (0..<5).map { number in latest.run { work(number) } }
        DeferredList(calls).results().cancel()
        clock.advance(by: .seconds(2))
        #expect(log.all.isEmpty && clock.scheduled.isEmpty)
    }

    @Test("C7: retries and repeating work that are cancelled together make no further attempt")
    func retries() throws {
        let clock = ManualClock()
        let tries = (0..<5).map { number in
            Deferred.retry(attempts: 9, delay: .none, on: clock) { work(number).map { $0 } }
        }
        DeferredList(tries).results().cancel()
        clock.advance(by: .seconds(2))
        #expect(log.all.count == 5 && clock.scheduled.isEmpty)
    }
}
