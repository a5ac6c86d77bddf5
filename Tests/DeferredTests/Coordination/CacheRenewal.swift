import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

/// A cache with a size, with values that are renewed, and with failures that are kept.
@Suite("DeferredCache: maximumCount, refreshesAfter and failures", .watchdog)
struct CacheRenewal {
    typealias Server = DeferredCacheTests.Server

    let clock = ManualClock()
    let server = Server()
    let log = SharedLog<String>()

    // MARK: maximumCount

    /// Asks for values that are there at once, and returns which requests were made.
    func requests(_ keys: String, _ cache: DeferredCache<Character, String>) -> String {
        var made = ""
        for key in keys {
            _ =
                cache.value(for: key) {
                    made.append(key)
                    return .resolved("\(key)")
                }.currentResult
        }
        return made
    }

    @Test(
        "maximumCount: what was used least recently goes",
        arguments: [("abcabc", "abc"), ("abcda", "abcda"), ("abcadb", "abcdb"), ("aabbccaddbb", "abcdb")])
    func leastRecentlyUsed(keys: String, made: String) {
        let cache = DeferredCache<Character, String>(maximumCount: 3, timer: clock)
        #expect(requests(keys, cache) == made)
        #expect(cache.keptCount == 3 && clock.scheduled.isEmpty)
    }

    @Test(
        "maximumCount: against a slow model, with values that expire and keys that are forgotten",
        arguments: 0..<10)
    func model(seed: UInt64) {
        var random = SplitMix64(seed)
        let maximum = Int(random.next() % 6)
        let cache = DeferredCache<Int, Int>(maximumCount: maximum, keepingFor: .seconds(5), timer: clock)
        var model: [(key: Int, due: Duration)] = []
        for _ in 0..<500 {
            let key = Int(random.next() % 9)
            switch random.next() % 8 {
            case 0:
                cache.forget(key)
                model.removeAll { $0.key == key }
            case 1:
                clock.advance(by: .seconds(1))
                model.removeAll { $0.due <= clock.elapsed }
            default:
                var isMade = false
                _ =
                    cache.value(for: key) {
                        isMade = true
                        return .resolved(key)
                    }.currentResult
                let index = model.firstIndex { $0.key == key }
                #expect(isMade == (index == nil), "seed \(seed)")
                let entry = index.map { model.remove(at: $0) } ?? (key, clock.elapsed + .seconds(5))
                model = (model + [entry]).suffix(maximum)
            }
            #expect(cache.keptCount == model.count && clock.scheduled.count == model.count, "seed \(seed)")
        }
    }

    @Test("maximumCount: what is in progress counts, and is never thrown away")
    func inProgress() throws {
        let cache = DeferredCache<String, Int>(maximumCount: 2, timer: clock)
        _ = cache.value(for: "kept") { .resolved(0) }.currentResult
        let asked = ["a", "b", "c"].map { key in cache.value(for: key) { server.request() } }
        #expect(cache.inProgressCount == 3 && cache.keptCount == 0)
        let again = cache.value(for: "a") { server.request() }
        #expect(server.requests.count == 3)
        for (number, request) in server.requests.enumerated() { request.resolve(number) }
        #expect(try asked.map { try successResult(of: $0) } == [0, 1, 2] && successResult(of: again) == 0)
        #expect(cache.inProgressCount == 0 && cache.keptCount == 2)
        _ = cache.value(for: "a") { server.request() }
        #expect(server.requests.count == 4, "there was no room for the value of the first that ended")
    }

    @Test("maximumCount of 0 shares requests only; a negative one is refused by name at every use")
    func bounds() throws {
        let none = DeferredCache<Character, String>(maximumCount: 0, keepingFor: .seconds(9), timer: clock)
        #expect(requests("aab", none) == "aab")
        #expect(none.keptCount == 0 && clock.scheduled.isEmpty)
        let invalid = DeferredCache<String, Int>(maximumCount: -1, timer: clock)
        #expect(
            try failureResult(of: invalid.value(for: "a") { server.request() }) as? DeferredError
                == .invalidArgument("a cache's maximumCount must not be negative, is -1"))
        #expect(server.requests.isEmpty)
        invalid.forget("a")
    }

    @Test("A2: what is thrown away is released, and its timers stopped")
    func released() {
        let tracker = LeakTracker()
        let cache = DeferredCache<Int, LeakTracker.Tracked>(
            maximumCount: 1, refreshesAfter: .seconds(1), keepingFor: .seconds(9), timer: clock)
        for key in 0..<3 { _ = cache.value(for: key) { .resolved(tracker.begin()) }.currentResult }
        #expect(tracker.alive == 1 && clock.scheduled.count == 2)
        cache.forgetAll()
        #expect(tracker.alive == 0 && clock.scheduled.isEmpty)
    }

    /// A key that equals nothing, or everything, or has another hash value each time.
    struct LyingKey: Hashable, Sendable {
        let kind: Int
        static let counter = SpinLocked(0)
        static func == (a: Self, b: Self) -> Bool { a.kind == 1 }
        func hash(into hasher: inout Hasher) {
            if kind == 2 {
                hasher.combine(
                    Self.counter.withLock {
                        $0 += 1; return $0
                    })
            }
        }
    }

    @Test("a key whose == or hash lies costs requests, and nothing else", arguments: 0..<3)
    func lyingKey(kind: Int) throws {
        let cache = DeferredCache<LyingKey, Int>(
            maximumCount: 4, refreshesAfter: .seconds(1), keepingFor: .seconds(5), timer: clock)
        for number in 0..<50 {
            let value = cache.value(for: LyingKey(kind: kind)) { .resolved(number) }
            try successResult(of: value)
            if number % 9 == 0 { cache.forget(LyingKey(kind: 0)) }
            #expect(cache.keptCount <= 4)
        }
        clock.advance(by: .seconds(9))
        #expect(cache.keptCount == 0 && clock.scheduled.isEmpty)
    }

    // MARK: refreshesAfter

    func refreshing(_ failureTime: Duration = .zero) -> DeferredCache<String, Int> {
        DeferredCache(
            refreshesAfter: .seconds(10), keepingFor: .seconds(60), keepingFailuresFor: failureTime,
            timer: clock)
    }

    func value(_ cache: DeferredCache<String, Int>) -> Deferred<Int> {
        cache.value(for: "a") { server.request() }
    }

    @Test("Q7: a value that is older is returned at once, and one request renews it, however many ask")
    func renews() throws {
        let cache = refreshing()
        let first = value(cache)
        server.requests[0].resolve(1)
        #expect(try successResult(of: first) == 1)
        clock.advance(by: .seconds(9))
        #expect(try successResult(of: value(cache)) == 1)
        #expect(server.requests.count == 1)
        clock.advance(by: .seconds(1))
        for _ in 0..<3 { #expect(try successResult(of: value(cache)) == 1) }
        #expect(server.requests.count == 2 && cache.inProgressCount == 1 && cache.keptCount == 1)
        server.requests[1].resolve(2)
        #expect(try successResult(of: value(cache)) == 2)
        clock.advance(by: .seconds(59))
        #expect(try successResult(of: value(cache)) == 2, "it is kept from when it was renewed")
        #expect(server.requests.count == 3)
    }

    @Test("U1: a renewal that fails keeps the older value until it expires, and is reported")
    func renewalFails() throws {
        let cache = refreshing()
        _ = value(cache)
        server.requests[0].resolve(1)
        clock.advance(by: .seconds(10))
        let seen = try diagnostics(reportedDuring: { () throws -> Void in
            #expect(try successResult(of: value(cache)) == 1)
            server.requests[1].reject(TestError())
        })
        #expect(seen.count == 1)
        #expect(try successResult(of: value(cache)) == 1)
        #expect(server.requests.count == 3, "the next call tries again")
        let others = diagnostics { server.requests[2].reject(CancellationError()) }
        #expect(others.isEmpty)
        clock.advance(by: .seconds(50))
        #expect(cache.keptCount == 0)
        try expectNoResult(value(cache))
        #expect(server.requests.count == 4)
    }

    @Test("a renewal whose closure throws is one that fails")
    func renewalThrows() throws {
        let cache = refreshing()
        _ = value(cache)
        server.requests[0].resolve(1)
        clock.advance(by: .seconds(10))
        let seen = try diagnostics(reportedDuring: { () throws -> Void in
            #expect(try successResult(of: cache.value(for: "a") { throw TestError() }) == 1)
        })
        #expect(seen.count == 1 && cache.inProgressCount == 0 && cache.keptCount == 1)
    }

    @Test("a renewal is shared by those who ask after the value has expired; they receive its failure")
    func expiresMeanwhile() throws {
        let cache = refreshing()
        _ = value(cache)
        server.requests[0].resolve(1)
        clock.advance(by: .seconds(10))
        _ = value(cache)
        clock.advance(by: .seconds(50))
        let (late, cancelled) = (value(cache), value(cache))
        #expect(server.requests.count == 2)
        cancelled.cancel()
        try expectNoResult(late)
        let seen = try diagnostics(reportedDuring: { () throws -> Void in
            server.requests[1].reject(TestError())
            #expect(try failureResult(of: late) is TestError)
        })
        #expect(seen.isEmpty && cache.keptCount == 0 && cache.inProgressCount == 0)
    }

    @Test("Q7: forget cancels a renewal that nobody waits for, and its value is never kept")
    func forgets() throws {
        let cache = refreshing()
        _ = value(cache)
        server.requests[0].resolve(1)
        clock.advance(by: .seconds(10))
        _ = value(cache)
        let seen = try diagnostics(reportedDuring: { () throws -> Void in
            cache.forget("a")
            #expect(try failureResult(of: server.requests[1]) is CancellationError)
        })
        #expect(seen.isEmpty && clock.scheduled.isEmpty)
        try expectNoResult(value(cache))
        #expect(server.requests.count == 3 && cache.keptCount == 0)
    }

    @Test("Q7: forget leaves a renewal to those who wait for it; the value is not kept")
    func forgetsShared() throws {
        let cache = refreshing()
        _ = value(cache)
        server.requests[0].resolve(1)
        clock.advance(by: .seconds(10))
        _ = value(cache)
        clock.advance(by: .seconds(50))
        let late = value(cache)
        cache.forget("a")
        try expectNoResult(late)
        server.requests[1].resolve(2)
        #expect(try successResult(of: late) == 2)
        #expect(cache.keptCount == 0)
    }

    @Test("Q7: a cancel that comes late to a request that has ended does not count for the renewal")
    func lateCancel() throws {
        let cache = refreshing()
        let first = value(cache)
        server.requests[0].resolve(1)
        clock.advance(by: .seconds(10))
        _ = value(cache)
        first.cancel()
        server.requests[1].resolve(2)
        #expect(try successResult(of: value(cache)) == 2)
    }

    @Test("a renewal that asks for its own key receives the older value")
    func ownKey() throws {
        let cache = DeferredCache<String, Int>(
            refreshesAfter: .seconds(10), keepingFor: .seconds(60), timer: clock)
        @Sendable func next() -> Deferred<Int> {
            cache.value(for: "a") { cache.keptCount == 0 ? .resolved(1) : next().map { $0 + 1 } }
        }
        #expect(try successResult(of: next()) == 1)
        clock.advance(by: .seconds(10))
        #expect(try successResult(of: next()) == 1)
        #expect(try successResult(of: next()) == 2)
    }

    @Test("refreshesAfter of zero or less: every call renews, one request at a time", arguments: [0, -1])
    func always(seconds: Int) throws {
        let cache = DeferredCache<String, Int>(refreshesAfter: .seconds(seconds), timer: clock)
        _ = value(cache)
        server.requests[0].resolve(0)
        for number in 1..<4 {
            #expect(try successResult(of: value(cache)) == number - 1)
            #expect(try successResult(of: value(cache)) == number - 1)
            #expect(server.requests.count == number + 1)
            server.requests[number].resolve(number)
        }
        #expect(clock.scheduled.isEmpty)
    }

    @Test("maximumCount: a value that is being renewed is not thrown away")
    func renewedIsKept() throws {
        let cache = DeferredCache<String, Int>(maximumCount: 1, refreshesAfter: .zero, timer: clock)
        _ = value(cache)
        server.requests[0].resolve(1)
        _ = value(cache)
        _ = cache.value(for: "b") { .resolved(0) }.currentResult
        #expect(try successResult(of: value(cache)) == 1)
        #expect(server.requests.count == 2 && cache.keptCount == 1)
        server.requests[1].resolve(2)
        #expect(try successResult(of: value(cache)) == 2)
    }

    // MARK: Failures

    @Test("keepingFailuresFor: who asks in that time receives the failure, and makes no request")
    func failures() throws {
        let cache = DeferredCache<String, Int>(keepingFailuresFor: .seconds(5), timer: clock)
        let first = value(cache)
        server.requests[0].reject(TestError())
        #expect(try failureResult(of: first) is TestError)
        clock.advance(by: .seconds(4))
        #expect(try failureResult(of: value(cache)) is TestError)
        #expect(server.requests.count == 1 && cache.keptCount == 1)
        clock.advance(by: .seconds(1))
        let second = value(cache)
        server.requests[1].reject(CancellationError())
        #expect(try failureResult(of: second) is CancellationError)
        #expect(cache.keptCount == 0, "a cancellation is not kept")
        let third = value(cache)
        server.requests[2].resolve(3)
        #expect(try successResult(of: third) == 3 && cache.keptCount == 0 && clock.scheduled.isEmpty)
    }

    @Test("keepingFailuresFor: a renewal that has failed is not tried again in that time")
    func failedRenewal() throws {
        let cache = refreshing(.seconds(5))
        _ = value(cache)
        server.requests[0].resolve(1)
        clock.advance(by: .seconds(10))
        _ = value(cache)
        _ = diagnostics { server.requests[1].reject(TestError()) }
        clock.advance(by: .seconds(4))
        #expect(try successResult(of: value(cache)) == 1 && server.requests.count == 2)
        clock.advance(by: .seconds(1))
        #expect(try successResult(of: value(cache)) == 1 && server.requests.count == 3)
    }

    // MARK: Threads

    @Test("T1: many threads ask, forget and cancel: the bound is kept, and nothing is left")
    func threads() {
        for round in 0..<20 {
            let (clock, cache) = (
                ManualClock(),
                DeferredCache<Int, Int>(maximumCount: 3, refreshesAfter: .zero, timer: ManualClock())
            )
            let inProgress = SpinLocked<[Int: Int]>([:])
            Rules.onThreads(4) { thread in
                var random = SplitMix64(UInt64(round * 4 + thread))
                for _ in 0..<100 {
                    let key = Int(random.next() % 6)
                    switch random.next() % 8 {
                    case 0: cache.forget(key)
                    case 1: cache.value(for: key) { .after(.zero, timer: clock, value: key) }.cancel()
                    default:
                        let isSlow = random.next() % 2 == 0
                        let value = cache.value(for: key) {
                            inProgress.withLock { $0[key, default: 0] += 1 }
                            let request = Deferred<Int>.after(
                                isSlow ? .milliseconds(1) : .zero, timer: clock, value: key)
                            return request
                        }
                        value.done { #expect($0 == key) }.fail { _ in }
                        clock.advance(by: .milliseconds(1))
                    }
                }
            }
            clock.advance(by: .seconds(1))
            #expect(cache.inProgressCount == 0 && cache.keptCount <= 3)
        }
    }
}
