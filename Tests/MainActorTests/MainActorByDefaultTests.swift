import Deferred
import DeferredTesting
import Multicast
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

@Suite("Main actor by default")
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
}
