import Deferred
import DeferredTesting
import TestSupport
import Testing

/// Requests that wait for their own value by way of Tasks, where no cycle can be seen: they stay pending, and the last
/// cancel of a caller outside of them ends them.
@Suite("DeferredCache: requests that wait for themselves in Tasks", .watchdog)
struct CacheCycleTests {
    let cache = DeferredCache<Int, Int>()
    /// Resolved when all requests of a cycle wait.
    let isClosed = Deferred<Void>()
    let ended = DeferredQueue<String>()

    /// Requests a key whose request awaits the next of `count` keys, and the last of them the first.
    private func askInRing(_ key: Int, of count: Int) -> Deferred<Int> {
        cache.asyncValue(for: key) {
            let next = askInRing((key + 1) % count, of: count)
            if key == count - 1 { isClosed.resolve() }
            do { return try await next.value } catch {
                try ended.put(error is CancellationError ? "cancelled" : "\(error)")
                throw error
            }
        }
    }

    private func expectFree(_ keys: Range<Int>) throws {
        #expect(cache.inProgressCount == 0)
        for key in keys { #expect(try successResult(of: cache.value(for: key) { .resolved(key) }) == key) }
    }

    @Test(
        "Q7: the cancel of the last caller from outside ends it, at once, and the keys are free",
        .watchdog, arguments: 1...3)
    func ring(count: Int) async throws {
        let asked = [askInRing(0, of: count), askInRing(0, of: count)]
        try await isClosed.value
        asked[0].cancel()
        #expect(cache.inProgressCount == count)
        try expectNoResult(asked[1])
        asked[1].cancel()
        for asker in asked { #expect(try failureResult(of: asker) is CancellationError) }
        // A new request for the first key at once; for the others when their Tasks have noticed.
        #expect(try successResult(of: cache.value(for: 0) { .resolved(0) }) == 0)
        for _ in 0..<count { #expect(try await ended.get().value == "cancelled") }
        try expectFree(0..<count)
    }

    @Test("Q7: a caller of any key in the cycle keeps all of it, and is not cancelled with others")
    func callersOfOtherKeys() async throws {
        let first = askInRing(0, of: 2)
        try await isClosed.value
        let second = askInRing(1, of: 2)
        first.cancel()
        #expect(try failureResult(of: first) is CancellationError)
        try expectNoResult(second)
        #expect(cache.inProgressCount == 2)
        second.cancel()
        for _ in 0..<2 { #expect(try await ended.get().value == "cancelled") }
        try expectFree(0..<2)
    }

    @Test("Q7: likewise where the request is a nested Deferred whose Task awaits the value")
    func nestedTask() async throws {
        let asked = cache.value(for: 0) {
            Deferred.resolved().then {
                Deferred<Int> {
                    let own = cache.value(for: 0) { .resolved(1) }
                    isClosed.resolve()
                    do { return try await own.value } catch {
                        try ended.put("\(error is CancellationError)")
                        throw error
                    }
                }
            }
        }
        try await isClosed.value
        asked.cancel()
        #expect(try await ended.get().value == "true")
        try expectFree(0..<1)
    }

    @Test("Q7: likewise through two caches of different types")
    func twoCaches() async throws {
        let names = DeferredCache<String, String>()
        let asked = cache.asyncValue(for: 0) {
            try await names.asyncValue(for: "a") {
                let own = cache.value(for: 0) { .resolved(1) }
                isClosed.resolve()
                return "\(try await own.value)"
            }.value.count
        }
        try await isClosed.value
        asked.cancel()
        #expect(try failureResult(of: asked) is CancellationError)
        try expectFree(0..<1)
    }

    @Test("Q7: a Task started by a request may wait for its value: that is no cycle")
    func taskOfRequest() async throws {
        let gate = Deferred<Void>()
        let asked = cache.asyncValue(for: 0) {
            Task {
                let own = cache.value(for: 0) { .resolved(1) }
                isClosed.resolve()
                try ended.put("\(try await own.value)")
            }
            try await gate.value
            return 5
        }
        let other = cache.asyncValue(for: 0) { 1 }
        try await isClosed.value
        other.cancel()
        gate.resolve()
        #expect(try await asked.value == 5)
        #expect(try await ended.get().value == "5")
    }

    @Test("Q7: a request made inside another one, and shared from outside, keeps what it waits for")
    func prefetch() async throws {
        let gate = Deferred<Void>()
        let first = cache.asyncValue(for: 0) {
            // Made ahead, and not awaited; it needs this request's value.
            cache.asyncValue(for: 1) {
                let parent = cache.value(for: 0) { .resolved(1) }
                isClosed.resolve()
                return try await parent.value + 1
            }.done { _ in }
            try await gate.value
            return 10
        }
        try await isClosed.value
        let second = cache.asyncValue(for: 1) { 1 }
        first.cancel()
        try expectNoResult(second)
        gate.resolve()
        #expect(try await second.value == 11)
        try expectFree(0..<2)
    }

    @Test("Q7: a Task that outlives the request that started it counts as a caller like any other")
    func taskOutlives() async throws {
        let (gate, request) = (Deferred<Void>(), Deferred<Int>())
        let outer = cache.asyncValue(for: 0) {
            Task {
                try await gate.value
                let asked = cache.value(for: 1) { request }
                isClosed.resolve()
                try ended.put("\(try await asked.value)")
            }
            return 1
        }
        #expect(try await outer.value == 1)
        gate.resolve()
        try await isClosed.value
        cache.value(for: 1) { request }.cancel()
        #expect(cache.inProgressCount == 1)
        request.resolve(7)
        #expect(try await ended.get().value == "7")
    }

    /// Two requests that wait for each other, and callers of both from outside.
    private struct Ring: Sendable {
        let tests = CacheCycleTests()
        let asked: [Deferred<Int>]
        let late = SpinLocked<Deferred<Int>?>(nil)

        init() {
            let first = tests.askInRing(0, of: 2)
            _ = try? tests.isClosed.wait()
            asked = [first, tests.askInRing(1, of: 2)]
        }

        func askLate() { late.withLock { $0 = tests.cache.value(for: 0) { Deferred.never() } } }

        func expectEnded() {
            for _ in 0..<2 { #expect((try? tests.ended.get().wait()) == "cancelled") }
            #expect(tests.cache.inProgressCount == 0)
        }
    }

    @Test("T1: the callers of a cycle cancel at once: it ends, whoever is last", .ownThreads)
    func racingCancels() {
        Race(rounds: Extent.rounds / 4) { Ring() }
            .racing({ $0.asked[0].cancel() }, { $0.asked[1].cancel() })
            .check { $0.expectEnded() }
    }

    @Test(
        "T1: who asks while the last caller of a cycle cancels joins it, or makes a new request", .ownThreads)
    func racingCall() {
        Race(rounds: Extent.rounds / 4) { Ring() }
            .racing({ ring in for asked in ring.asked { asked.cancel() } }, { $0.askLate() })
            .check { ring in
                let late = ring.late.withLock { $0! }
                #expect(late.currentResult == nil)
                late.cancel()
                ring.expectEnded()
            }
    }
}
