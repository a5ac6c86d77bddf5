import Deferred
import DeferredTesting
import Dispatch
import TestSupport
import Testing

@Suite("drainMainActor", .watchdog)
@MainActor struct DrainMainActorTests {
    @MainActor final class Model {
        var steps: [String] = []
    }

    @Test("returns when what was submitted has run, of a chain with several hops all")
    func chain() async {
        let model = Model()
        Deferred.resolved(1)
            .map(on: MainActor.self) { number in
                model.steps.append("first")
                return number
            }
            .map { $0 + 1 }
            .then(on: MainActor.self) { number in
                model.steps.append("second")
                return Deferred.resolved(number)
            }
            .done(on: MainActor.self) { model.steps.append("\($0)") }
            .finally(on: MainActor.self) { _ in model.steps.append("finally") }
        #expect(model.steps.isEmpty)
        await drainMainActor()
        #expect(model.steps == ["first", "second", "2", "finally"])
    }

    @Test("what runs submits more, on the main actor and on the main queue")
    func nested() async {
        let model = Model()
        let inner = Deferred<Int>()
        inner.done(on: .main) { _ in MainActor.assumeIsolated { model.steps.append("queue") } }
        inner.done(on: MainActor.self) { _ in model.steps.append("actor") }
        Deferred.resolved(1).done(on: MainActor.self) { inner.resolve($0) }
        await drainMainActor()
        #expect(model.steps.contains("actor"))
        await drainMainActor()
        #expect(model.steps.sorted() == ["actor", "queue"])
    }

    @Test("waits for nothing that is not submitted yet, and returns with nothing to do")
    func pending() async throws {
        let model = Model()
        let page = Deferred<String>()
        page.done(on: MainActor.self) { model.steps.append($0) }
        await drainMainActor()
        #expect(model.steps.isEmpty)
        await Task.detached { _ = page.resolve("text") }.value
        await drainMainActor()
        #expect(model.steps == ["text"])
    }

    @Test("may be called from anywhere, by several at once")
    func fromAnywhere() async {
        let model = Model()
        for number in 0..<100 {
            Deferred.resolved(number).done(on: MainActor.self) { model.steps.append("\($0)") }
        }
        await withTaskGroup { group in
            for _ in 0..<8 { group.addTask { await drainMainActor() } }
        }
        #expect(model.steps == (0..<100).map(String.init))
    }
}
