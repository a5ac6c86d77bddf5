import Deferred
import DeferredTesting
import Multicast
import TestSupport
import Testing

// Compiled with the main actor as default isolation: the closures, models and tests below name no actor but in `on:`.

final class Window {
    var lines: [String] = []
    func show(_ line: String) { lines.append(line) }
    func mayClose() -> Bool { true }
}

protocol Closing: AnyObject {
    func mayClose() -> Bool
}

extension Window: Closing {}

final class PageModel {
    private let load: @Sendable () -> Deferred<String>
    private(set) var text = ""

    init(load: @escaping @Sendable () -> Deferred<String>) { self.load = load }

    func appear() { load().done(on: MainActor.self) { self.text = $0 } }
}

@Suite("Main actor by default", .watchdog)
struct MainActorByDefaultTests {
    let window = Window()
    let clock = ManualClock()

    @Test("a view model's test drains the main actor")
    func model() async {
        let model = PageModel(load: { .resolved("text") })
        model.appear()
        await drainMainActor()
        #expect(model.text == "text")
    }

    @Test("channels, closures and delegates")
    func multicast() async throws {
        let chat = BroadcastChannel<String>()
        chat.listen(window, on: MainActor.self) { window, line in window.show(line) }
        chat.listen(window, on: MainActor.self) { line in window.show(line) }
        chat.post("hello")
        let askers = MulticastClosures<String, any Error>()
        askers.add(
            window, on: MainActor.self, success: { window, text in window.show(text) },
            failure: { window, error in window.show("\(error)") })
        askers.add(window, on: MainActor.self, success: { window.show($0) }, failure: { _ in })
        askers.complete(with: .success("done"))
        let delegates = MulticastDelegate<any Closing>()
        delegates.add(window, on: MainActor.self)
        delegates.notify(on: MainActor.self) { _ = $0.mayClose() }
        #expect(try await delegates.all(on: MainActor.self) { $0.mayClose() }.value)
        #expect(try await delegates.any(asking: .concurrently, on: MainActor.self) { $0.mayClose() }.value)
        #expect(try await delegates.collect(on: MainActor.self) { $0.mayClose() }.value == [true])
        let count = delegates.reduce(into: 0, on: MainActor.self) { $0 += $1.mayClose() ? 1 : 0 }
        #expect(try await count.value == 1)
        await drainMainActor()
        #expect(window.lines == ["hello", "hello", "done", "done"])
    }

    @Test("repeated work, workers and limited lists")
    func work() async throws {
        let bag = CancelBag()
        Deferred.repeating(every: .seconds(1), on: MainActor.self, timer: clock) { window.show("tick") }
            .store(in: bag)
        let counting = RepeatingWork(
            every: .seconds(1), on: MainActor.self, timer: clock, startsNow: false,
            withCount: { window.show("\($0)") })
        await drainMainActor()
        clock.advance(by: .seconds(1))
        await drainMainActor()
        #expect(window.lines.sorted() == ["1", "tick", "tick"])
        counting.cancel()
        bag.cancelAll()
        let jobs = DeferredQueue<String>()
        let worker = jobs.run(on: MainActor.self) { window.show($0) }
        try jobs.put("job")
        jobs.finish()
        try await worker.value
        #expect(window.lines.last == "job")
        let list = DeferredList(["a", "b"], limit: 1, on: MainActor.self) { name in
            window.show(name)
            return .resolved(name)
        }
        #expect(try await list.values().value == ["a", "b"])
    }

    @Test("a body with a resolver, cancellers, attempts, time limits, permits and the latest call")
    func starts() async throws {
        let text = Deferred<String>(on: MainActor.self) { resolver in
            window.show("body")
            resolver.resolve("text")
        }
        #expect(try await text.value == "text")
        let (one, resolver) = Deferred<Int>.withResolver(
            on: MainActor.self, canceller: { _ in window.show("one") })
        let two = Deferred<Int>(on: MainActor.self, canceller: { _ in window.show("two") })
        one.cancel()
        two.cancel()
        #expect(resolver.isCancelled && resolver.isSettled)
        let attempts = Deferred.retry(attempts: 1, on: MainActor.self, timer: clock) {
            window.show("attempt")
            return Deferred.resolved(1)
        }
        let numbered = Deferred.retry(attempts: 1, on: MainActor.self, timer: clock) { attempt in
            window.show("attempt \(attempt)")
            return Deferred.resolved(1)
        }
        _ = try await (attempts.value, numbered.value)
        let late = Deferred<Int>.never().timeout(.seconds(1), on: MainActor.self, timer: clock) {
            window.show("late")
            return 1
        }
        let later = Deferred<Int>.never().timeout(.seconds(2), on: MainActor.self, timer: clock) { outcome in
            window.show("later")
            return 2
        }
        clock.advance(by: .seconds(2))
        _ = try await (late.value, later.value)
        #expect(window.lines == ["body", "one", "two", "attempt", "attempt 1", "late", "later"])
    }

    @Test("the request of a cache runs in the call, and may use what is isolated")
    func request() async throws {
        let cache = DeferredCache<Int, String>()
        let text = cache.value(for: 1) {
            window.show("request")
            return .resolved("text")
        }
        #expect(window.lines == ["request"])
        #expect(try await text.value == "text")
    }

    @Test("permits and the latest call; an errback that a cancellation passes")
    func permits() async throws {
        let (lock, semaphore, latest) = (DeferredLock(), DeferredSemaphore(1), DeferredLatest())
        lock.run(on: MainActor.self) {
            window.show("lock")
            return Deferred.resolved(1)
        }
        lock.syncRun(on: MainActor.self) { window.show("lock") }
        semaphore.run(on: MainActor.self) {
            window.show("semaphore")
            return Deferred.resolved(1)
        }
        semaphore.syncRun(on: MainActor.self) { window.show("semaphore") }
        latest.syncRun(on: MainActor.self) { window.show("replaced") }
        latest.syncRun(on: MainActor.self) { window.show("latest") }
        let load = Deferred<String>()
        let shown = load.done(on: MainActor.self) { window.show($0) }
            .fail(.exceptCancellation, on: MainActor.self) { error in window.show("\(error)") }
        shown.cancel()
        await drainMainActor()
        #expect(window.lines.sorted() == ["latest", "lock", "lock", "semaphore", "semaphore"])
        #expect(try failureResult(of: shown) is CancellationError)
    }
}
