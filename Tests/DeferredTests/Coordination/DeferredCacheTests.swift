import Deferred
import DeferredTesting
import Dispatch
import Foundation
import TestSupport
import Testing

@Suite("DeferredCache", .watchdog)
struct DeferredCacheTests {
    let clock = ManualClock()
    let log = SharedLog<String>()

    /// Requests that a test completes, by index.
    final class Server: Sendable {
        private let all = SpinLocked<[Deferred<Int>]>([])
        var requests: [Deferred<Int>] { all.withLock { $0 } }
        func request() -> Deferred<Int> {
            let request = Deferred<Int>()
            all.withLock { $0.append(request) }
            return request
        }
    }

    @Test("callers with one key share one request; other keys have their own")
    func shares() throws {
        let (cache, server) = (DeferredCache<String, Int>(), Server())
        let asked = (0..<3).map { _ in cache.value(for: "a") { server.request() } }
        let other = cache.value(for: "b") { server.request() }
        #expect(server.requests.count == 2)
        #expect(cache.inProgressCount == 2)
        server.requests[0].resolve(1)
        #expect(try asked.map { try successResult(of: $0) } == [1, 1, 1])
        try expectNoResult(other)
        server.requests[1].resolve(2)
        #expect(try successResult(of: other) == 2)
        #expect(cache.inProgressCount == 0 && cache.keptCount == 0)
    }

    @Test("callers are notified in the order in which they asked, and each may ask again at once")
    func order() throws {
        let (cache, server) = (DeferredCache<String, Int>(), Server())
        for number in 0..<3 {
            cache.value(for: "a") { server.request() }.done { _ in log.add("\(number)") }
        }
        let again = cache.value(for: "a") { server.request() }.then { _ in
            cache.value(for: "a") { server.request() }
        }
        server.requests[0].resolve(1)
        #expect(log.all == ["0", "1", "2"])
        #expect(server.requests.count == 2)
        server.requests[1].resolve(2)
        #expect(try successResult(of: again) == 2)
    }

    @Test("C3: each caller may cancel alone; the last one to cancel cancels the request")
    func cancel() throws {
        let (cache, server) = (DeferredCache<String, Int>(), Server())
        let (first, second) = (
            cache.value(for: "a") { server.request() }, cache.value(for: "a") { server.request() }
        )
        first.cancel()
        #expect(try failureResult(of: first) is CancellationError)
        try expectNoResult(second)
        try expectNoResult(server.requests[0])
        cache.value(for: "a") { server.request() }.cancel()
        #expect(server.requests.count == 1, "Q7: it is shared by who asks later, too")
        second.cancel()
        #expect(try failureResult(of: server.requests[0]) is CancellationError)
        #expect(try failureResult(of: second) is CancellationError)
        #expect(cache.inProgressCount == 0)
    }

    @Test("Q7: a request that is cancelled from elsewhere ends for all who share it")
    func cancelledFromElsewhere() throws {
        let (cache, requests) = (DeferredCache<String, Int>(keepingFor: .seconds(60)), CancelBag())
        let server = Server()
        let ask = { cache.value(for: "a") { server.request().store(in: requests) } }
        let callers = [ask(), ask()]
        requests.cancelAll()
        for caller in callers { #expect(try failureResult(of: caller) is CancellationError) }
        #expect(cache.keptCount == 0 && cache.inProgressCount == 0)
        let later = ask()
        server.requests[1].resolve(1)
        #expect(try successResult(of: later) == 1)
    }

    @Test("a call after the last one has cancelled makes a new request, also from inside the canceller")
    func askAfterCancel() throws {
        let (cache, server) = (DeferredCache<String, Int>(), Server())
        let again = SpinLocked<Deferred<Int>?>(nil)
        let request = Deferred<Int>(canceller: { _ in
            let asked = cache.value(for: "a") { server.request() }
            again.withLock { $0 = asked }
        })
        let first = cache.value(for: "a") { request }
        first.cancel()
        #expect(try failureResult(of: first) is CancellationError)
        let second = try #require(again.withLock { $0 })
        server.requests[0].resolve(5)
        #expect(try successResult(of: second) == 5)
    }

    @Test("Q7: a request that is made while the only one who asked is cancelled does not go on")
    func cancelledWhileMade() throws {
        let (cache, server) = (DeferredCache<String, Int>(), Server())
        let asked = SpinLocked<Deferred<Int>?>(nil)
        let outer = Deferred<Void>()
        let first = outer.then { () -> Deferred<Int> in
            cache.value(for: "a") {
                // The caller's own Deferred does not exist yet; another one that asks meanwhile does.
                asked.withLock { $0 }?.cancel()
                return server.request()
            }
        }
        asked.withLock { $0 = first }
        outer.resolve()
        #expect(try failureResult(of: first) is CancellationError)
        #expect(try failureResult(of: server.requests[0]) is CancellationError)
        #expect(cache.inProgressCount == 0)
    }

    @Test("Q7: the value of a request that was forgotten is never kept, and a later one is")
    func forgottenIsNotKept() throws {
        let (cache, server) = (DeferredCache<String, Int>(keepingFor: .seconds(9), timer: clock), Server())
        let stale = cache.value(for: "a") { server.request() }
        cache.forget("a")
        let fresh = cache.value(for: "a") { server.request() }
        #expect(server.requests.count == 2)
        server.requests[1].resolve(2)
        server.requests[0].resolve(1)
        #expect(try successResult(of: stale) == 1 && successResult(of: fresh) == 2)
        #expect(try successResult(of: cache.value(for: "a") { server.request() }) == 2)
        #expect(cache.keptCount == 1)
        let last = cache.value(for: "b") { server.request() }
        cache.forgetAll()
        server.requests[2].resolve(3)
        #expect(try successResult(of: last) == 3)
        #expect(cache.keptCount == 0 && clock.scheduled.isEmpty)
    }

    @Test("a failure is passed to all who shared the request and is not kept, thrown or returned")
    func failure() throws {
        let (cache, server) = (DeferredCache<String, Int>(keepingFor: .seconds(9), timer: clock), Server())
        let (first, second) = (
            cache.value(for: "a") { server.request() }, cache.value(for: "a") { server.request() }
        )
        server.requests[0].reject(TestError())
        #expect(try failureResult(of: first) is TestError)
        #expect(try failureResult(of: second) is TestError)
        #expect(try failureResult(of: cache.value(for: "a") { throw TestError() }) is TestError)
        #expect(cache.keptCount == 0)
        #expect(try successResult(of: cache.value(for: "a") { .resolved(3) }) == 3)
    }

    @Test("a value is kept for the time given, then requested anew")
    func keeps() throws {
        let (cache, server) = (DeferredCache<String, Int>(keepingFor: .seconds(10), timer: clock), Server())
        let first = cache.value(for: "a") { server.request() }
        server.requests[0].resolve(1)
        clock.advance(by: .seconds(9))
        #expect(try successResult(of: cache.value(for: "a") { server.request() }) == 1)
        #expect(server.requests.count == 1 && cache.keptCount == 1)
        clock.advance(by: .seconds(1))
        #expect(cache.keptCount == 0)
        let second = cache.value(for: "a") { server.request() }
        #expect(server.requests.count == 2)
        server.requests[1].resolve(2)
        #expect(try successResult(of: second) == 2)
        try successResult(of: first)
    }

    @Test("C1: the result of a canceller when the last caller cancels is not kept")
    func cancellerAnswers() throws {
        let cache = DeferredCache<String, Int>(keepingFor: .seconds(10), timer: clock)
        let request = Deferred<Int>(canceller: { $0.resolve(7) })
        let only = cache.value(for: "a") { request }
        only.cancel()
        #expect(try failureResult(of: only) is CancellationError)
        #expect(cache.keptCount == 0 && cache.inProgressCount == 0)
    }

    @Test("F4, C5: all who share are notified before their callbacks run: a cancel there is too late")
    func cancelWhileTold() throws {
        let (cache, server) = (DeferredCache<String, Int>(), Server())
        let holder = SpinLocked<Deferred<Int>?>(nil)
        let first = cache.value(for: "a") { server.request() }
        let second = cache.value(for: "a") { server.request() }
        holder.withLock { $0 = second }
        first.done { _ in holder.withLock { $0 }!.cancel() }
        let seen = diagnostics { server.requests[0].resolve(1) }
        #expect(seen.isEmpty)
        #expect(try successResult(of: second) == 1)
    }

    @Test("an asynchronous request is shared, and its Task cancelled by the last one to cancel")
    func asynchronous() async throws {
        let cache = DeferredCache<String, Int>()
        let clock = clock
        let asked = (0..<3).map { _ in
            cache.asyncValue(for: "a") {
                try await clock.sleep(for: .seconds(1))
                return 5
            }
        }
        try await clock.whenScheduled().value
        #expect(clock.scheduled.count == 1)
        asked[0].cancel()
        asked[1].cancel()
        clock.advance(by: .seconds(1))
        #expect(try await asked[2].value == 5)
    }

    /// A request that, once its gate is open, requests its own key through `count - 1` others.
    private func askInRing(
        _ cache: DeferredCache<Int, Int>, _ gates: [Deferred<Void>], _ key: Int
    ) -> Deferred<Int> {
        cache.value(for: key) { gates[key].then { askInRing(cache, gates, (key + 1) % gates.count) } }
    }

    @Test(
        "L5: a request that comes to wait for its own key fails with .cycle, and the key is free again",
        arguments: 1...3)
    func ring(count: Int) throws {
        let cache = DeferredCache<Int, Int>(keepingFor: .seconds(10), timer: clock)
        let gates = (0..<count).map { _ in Deferred<Void>() }
        let asked = [askInRing(cache, gates, 0), askInRing(cache, gates, 0)]
        for gate in gates { gate.resolve() }
        for asker in asked { #expect(try failureResult(of: asker) as? DeferredError == .cycle) }
        #expect(cache.inProgressCount == 0 && cache.keptCount == 0)
        #expect(try successResult(of: cache.value(for: 0) { .resolved(5) }) == 5)
    }

    @Test("L5: a cycle that two threads close, each while it makes a request")
    func ringOfThreads() throws {
        let cache = DeferredCache<String, Int>()
        let asked = SpinLocked<[Deferred<Int>]>([])
        let first = cache.value(for: "a") {
            let isAsked = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                let second = cache.value(for: "b") { cache.value(for: "a") { .resolved(1) } }
                asked.withLock { $0.append(second) }
                isAsked.signal()
            }
            isAsked.wait()
            return cache.value(for: "b") { .resolved(2) }
        }
        for asker in asked.withLock({ $0 }) + [first] {
            #expect(try failureResult(of: asker) as? DeferredError == .cycle)
        }
        #expect(cache.inProgressCount == 0)
    }

    @Test("L5: an errback inside the request may break the cycle, and its result is the value")
    func ringIsBroken() throws {
        let cache = DeferredCache<Int, Int>()
        let gate = Deferred<Void>()
        let asked = cache.value(for: 2) {
            gate.then { cache.value(for: 2) { .resolved(5) } }.recover { _ in 7 }
        }
        gate.resolve()
        #expect(try successResult(of: asked) == 7)
        #expect(cache.inProgressCount == 0)
    }

    @Test("U1: a failure is reported once if no caller handles it, and not if all have cancelled")
    func unhandled() {
        struct Late: Error {}
        let (cache, server) = (DeferredCache<String, Int>(), Server())
        let seen = diagnostics {
            _ = cache.value(for: "a") { server.request() }
            server.requests[0].reject(TestError())
        }
        #expect(seen.count == 1)
        let seenLater = diagnostics {
            let request = Deferred<Int>(canceller: { $0.reject(Late()) })
            cache.value(for: "a") { request }.cancel()
        }
        #expect(seenLater.isEmpty)
    }

    @Test("A2: a released cache releases what it kept, with its timers; its requests end all the same")
    func lifetime() throws {
        weak var watched: SharedLog<String>?
        weak var watchedCache: DeferredCache<String, SharedLog<String>>?
        do {
            let object = SharedLog<String>()
            watched = object
            let cache = DeferredCache<String, SharedLog<String>>(keepingFor: .seconds(10), timer: clock)
            watchedCache = cache
            try successResult(of: cache.value(for: "a") { .resolved(object) })
        }
        #expect(watchedCache == nil && clock.scheduled.isEmpty)
        #expect(watched == nil)

        let server = Server()
        var cache: DeferredCache<String, Int>? = DeferredCache()
        let asked = cache!.value(for: "a") { server.request() }
        cache = nil
        server.requests[0].resolve(1)
        #expect(try successResult(of: asked) == 1)
    }

    @Test("L5: a request that waits at once for its own value fails with .cycle", arguments: [true, false])
    func ownRequest(isMapped: Bool) throws {
        let cache = DeferredCache<String, Int>()
        let value = cache.value(for: "k") {
            let own = cache.value(for: "k") { .resolved(1) }
            return isMapped ? own.map { $0 + 1 } : own
        }
        #expect(try failureResult(of: value) as? DeferredError == .cycle)
        #expect(cache.inProgressCount == 0)
        #expect(try successResult(of: cache.value(for: "k") { .resolved(2) }) == 2)
    }

    /// A key whose `==` and `hash` call the cache that contains it.
    struct Key: Hashable, Sendable {
        let name: String
        let use: @Sendable () -> Void
        static func == (a: Key, b: Key) -> Bool {
            a.use()
            return a.name == b.name
        }
        func hash(into hasher: inout Hasher) {
            use()
            hasher.combine(name.count)
        }
    }

    @Test("a key's == and hash may use the cache: they run under no lock", .watchdog)
    func keysThatUseTheCache() throws {
        let cache = DeferredCache<Key, Int>(keepingFor: .seconds(10), timer: clock)
        let use: @Sendable () -> Void = { [weak cache] in _ = cache?.keptCount }
        let keys = ["a", "b", "a"].map { Key(name: $0, use: use) }
        let values = keys.enumerated().map { index, key in cache.value(for: key) { .resolved(index) } }
        #expect(try values.map { try successResult(of: $0) } == [0, 1, 0])
        cache.forget(keys[1])
        #expect(cache.keptCount == 1)
        clock.advance(by: .seconds(10))
        #expect(cache.keptCount == 0)
    }
}
