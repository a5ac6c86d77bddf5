import Deferred
import DeferredTesting
import TestSupport
import Testing

@Suite("Callbacks on the main actor", .watchdog)
struct MainActorTests {
    /// A typical view model.
    @MainActor final class Model {
        var text = ""
        var failures: [String] = []

        func load(_ page: Deferred<String>) -> Deferred<Void> {
            page
                .done(on: MainActor.self) { self.text = $0 }
                .fail(on: MainActor.self) { self.failures.append("\($0)") }
        }
    }

    @Test("they may access its isolated state, and run there whatever thread completes")
    @MainActor func model() async throws {
        let model = Model()
        let page = Deferred<String>()
        let loaded = model.load(page)
        await Task.detached { _ = page.resolve("hello") }.value
        try await loaded.value
        #expect(model.text == "hello")
        try await model.load(.rejected(TestError())).value
        #expect(model.failures == ["TestError(number: 0)"])
    }

    @Test("F2: they never run before `then` returns, also on the main actor")
    @MainActor func notAtOnce() async throws {
        let model = Model()
        let loaded = model.load(.resolved("now"))
        #expect(model.text == "")
        try await loaded.value
        #expect(model.text == "now")
    }

    @Test("F4: they run in the order attached")
    @MainActor func order() async throws {
        let model = Model()
        let source = Deferred<Int>()
        var last = Deferred.resolved(())
        for number in 0..<500 {
            last = source.done(on: MainActor.self) { _ in model.failures.append("\(number)") }
        }
        await Task.detached { _ = source.resolve(1) }.value
        try await last.value
        #expect(model.failures == (0..<500).map(String.init))
    }

    @Test("Z1, L3: a finalizer, and what passes the outcome on")
    @MainActor func finallyAndAlways() async throws {
        let model = Model()
        let source = Deferred<Int>()
        let finalized = Deferred<Void>()
        let passed = source.always(on: MainActor.self) { model.failures.append("always \($0)") }
        passed.finally(on: MainActor.self) {
            model.failures.append("finally \($0)")
            finalized.resolve()
        }
        await Task.detached { _ = source.resolve(1) }.value
        #expect(try await passed.value == 1)
        try await finalized.value
        #expect(model.failures == ["always success(1)", "finally success(1)"])
    }

    @Test("C5: cancelled before it is dequeued there, it does not run")
    @MainActor func cancelled() async throws {
        let model = Model()
        let loaded = Deferred.resolved("late").done(on: MainActor.self) { model.text = $0 }
        loaded.cancel()
        await #expect(throws: CancellationError.self) { try await loaded.value }
        #expect(model.text == "")
    }
}
