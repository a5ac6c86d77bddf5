import Deferred
import DeferredTesting
import Testing

/// Callers on several threads, and code that runs during a request.
@Suite("DeferredCache: callers and keys")
struct CacheIdentityTests {
    let clock = ManualClock()

    @Test("an unrelated callback that runs while a request is made shares that request")
    func unrelatedCallback() throws {
        let cache = DeferredCache<String, Int>()
        let (trigger, source) = (Deferred<Void>(), Deferred<Int>())
        let unrelated: Deferred<Int> = trigger.then { () -> Deferred<Int> in
            cache.value(for: "k") { () -> Deferred<Int> in .resolved(1) }
        }
        let first = cache.value(for: "k") { () -> Deferred<Int> in
            trigger.resolve()
            return source
        }
        source.resolve(5)
        #expect(try successResult(of: first) == 5)
        #expect(try successResult(of: unrelated) == 5)
    }

    @Test("L5: a request that waits for its own value fails with .cycle, at once or later", arguments: 0..<3)
    func ownRequest(kind: Int) throws {
        let cache = DeferredCache<String, Int>()
        let gate = Deferred<Void>()
        let value = cache.value(for: "k") { () -> Deferred<Int> in
            switch kind {
            case 0: cache.value(for: "k") { Deferred.resolved(1) }
            case 1: cache.value(for: "k") { Deferred.resolved(1) }.map { $0 + 1 }
            default: gate.then { cache.value(for: "k") { Deferred.resolved(1) } }
            }
        }
        gate.resolve()
        #expect(try failureResult(of: value) as? DeferredError == .cycle)
        #expect(cache.underWayCount == 0)
        #expect(try successResult(of: cache.value(for: "k") { .resolved(2) }) == 2)
    }

    @Test("A2: when the cache is released, the timers of its values are stopped")
    func timers() throws {
        var cache: DeferredCache<String, Int>? = DeferredCache(keepingFor: .seconds(10), on: clock)
        try successResult(of: cache!.value(for: "k") { .resolved(1) })
        #expect(clock.scheduled.count == 1)
        cache = nil
        #expect(clock.scheduled.isEmpty)
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

    @Test("a key's == and hash may use the cache: they run under no lock", .timeLimit(.minutes(5)))
    func keysThatUseTheCache() throws {
        let cache = DeferredCache<Key, Int>(keepingFor: .seconds(10), on: clock)
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
