import Deferred
import DeferredTesting
import Testing

@Suite("Callbacks on the main actor")
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

    @Test("every form takes what its callback returns, throws or waits for")
    @MainActor func forms() async throws {
        let model = Model()
        let source = Deferred.resolved(1)
        let failed = Deferred<Int>.rejected(TestError())
        let inner = Deferred<Int>()

        #expect(try await source.map(on: MainActor.self) { $0 + model.failures.count }.value == 1)
        let nested = source.then(on: MainActor.self) { _ in inner }
        #expect(try await failed.recover(on: MainActor.self) { _ in 7 }.value == 7)
        let nestedFail = failed.orElse(on: MainActor.self) { _ in inner }
        #expect(try await source.mapResult(on: MainActor.self) { try $0.get() + 1 }.value == 2)
        let nestedBoth = failed.thenResult(on: MainActor.self) { _ in inner }
        try await failed.fail(on: MainActor.self) { _ in model.failures.append("void") }.value
        try await failed.both(on: MainActor.self) { _ in model.failures.append("both") }.value
        await #expect(throws: TestError.self) {
            try await source.done(on: MainActor.self) { _ in throw TestError() }.value
        }
        inner.resolve(9)
        #expect(try await nested.value == 9)
        #expect(try await nestedFail.value == 9)
        #expect(try await nestedBoth.value == 9)
        #expect(model.failures == ["void", "both"])
    }

    @Test("in a pair, of which either closure may run, and for errors of one type")
    @MainActor func pairsAndTypedErrors() async throws {
        let model = Model()
        let source = Deferred.resolved(1)
        let failed = Deferred<Int>.rejected(TestError(number: 3))
        let inner = Deferred.resolved(9)
        for (outcome, mappedTo, nestedIn) in [(source, 1, 9), (failed, 7, 1)] {
            let mapped = outcome.map(on: MainActor.self) {
                $0 + model.failures.count
            } recover: { _ in
                7 + model.failures.count
            }
            let nested = outcome.then(on: MainActor.self) { _ in
                inner
            } orElse: { _ in
                source
            }
            #expect(try await mapped.value == mappedTo)
            #expect(try await nested.value == nestedIn)
        }
        for outcome in [source, failed] {
            try await outcome.done(on: MainActor.self) {
                model.failures.append("\($0)")
            } fail: {
                model.failures.append("\($0)")
            }.value
        }
        #expect(model.failures == ["1", "TestError(number: 3)"])

        #expect(try await failed.recover(TestError.self, on: MainActor.self) { $0.number }.value == 3)
        #expect(try await failed.orElse(TestError.self, on: MainActor.self) { _ in inner }.value == 9)
        try await failed.fail(TestError.self, on: MainActor.self) { model.failures.append("\($0.number)") }
            .value
        await #expect(throws: TestError.self) {
            try await failed.recover(CancellationError.self, on: MainActor.self) { _ in
                model.failures.append("another error")
                return 0
            }.value
        }
        #expect(model.failures == ["1", "TestError(number: 3)", "3"])
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
