import Deferred
import DeferredTesting
import TestSupport
import Testing

/// A cache retains a key only while it has a value or a request for it.
@Suite("DeferredCache: keys are released", .watchdog)
struct CacheLifetimeTests {
    let clock = ManualClock()
    let tracker = LeakTracker()

    /// A key whose copies are counted as long as one is there.
    struct Key: Hashable, Sendable {
        let name: String
        let tracked: LeakTracker.Tracked
        static func == (a: Key, b: Key) -> Bool { a.name == b.name }
        func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }

    private func key(_ name: String = "a") -> Key { Key(name: name, tracked: tracker.begin()) }

    @Test("K2: a key is released when its value expires")
    func expires() throws {
        let cache = DeferredCache<Key, Int>(keepingFor: .seconds(10), timer: clock)
        for number in 0..<100 {
            #expect(try successResult(of: cache.value(for: key("\(number)")) { .resolved(number) }) == number)
        }
        #expect(tracker.alive == 100)
        clock.advance(by: .seconds(10))
        #expect(tracker.alive == 0)
        #expect(cache.keptCount == 0)
    }

    @Test("K2: a key is released when its value is forgotten")
    func forgotten() throws {
        let cache = DeferredCache<Key, Int>(keepingFor: .seconds(10), timer: clock)
        for forget in [{ cache.forget(key()) }, { cache.forgetAll() }] {
            #expect(try successResult(of: cache.value(for: key()) { .resolved(1) }) == 1)
            #expect(tracker.alive == 1)
            forget()
            #expect(tracker.alive == 0 && clock.scheduled.isEmpty)
        }
    }

    @Test("K2: a key is released when its request ends without a value to keep: failed, cancelled, forgotten")
    func ended() throws {
        for keeps in [true, false] {
            let cache = DeferredCache<Key, Int>(keepingFor: keeps ? .seconds(10) : .zero, timer: clock)
            #expect(try failureResult(of: cache.value(for: key()) { throw TestError() }) is TestError)
            #expect(tracker.alive == 0)

            let request = Deferred<Int>()
            let (first, second) = (cache.value(for: key()) { request }, cache.value(for: key()) { request })
            #expect(tracker.alive == 1)
            for asked in [first, second] { asked.cancel() }
            #expect(try failureResult(of: request) is CancellationError)
            #expect(tracker.alive == 0)

            let forgotten = Deferred<Int>()
            let asked = cache.value(for: key()) { forgotten }
            cache.forget(key())
            forgotten.resolve(1)
            #expect(try successResult(of: asked) == 1)
            #expect(tracker.alive == 0)
        }
        let sharing = DeferredCache<Key, Int>()
        #expect(try successResult(of: sharing.value(for: key()) { .resolved(1) }) == 1)
        #expect(tracker.alive == 0)
    }
}
