import Deferred
import DeferredTesting
import Testing

@MainActor final class PageModel {
    private(set) var text = ""
    private(set) var message: String?
    private let load: @Sendable () -> Deferred<String>

    init(load: @escaping @Sendable () -> Deferred<String>) { self.load = load }

    func appear() {
        load()
            .done(on: MainActor.self) { [weak self] text in self?.text = text }
            .fail(on: MainActor.self) { [weak self] error in self?.message = "\(error)" }
    }
}

@Suite struct TestingTests {
    @Test("Testing: peek at the result")
    func looking() throws {
        let page = Deferred<String>()
        let length = page.map { $0.count }
        try expectNoResult(length)
        page.resolve("text")
        #expect(try successResult(of: length) == 4)

        let failed = Deferred<String>.rejected(NotFound())
        #expect(try failureResult(of: failed) is NotFound)
    }

    @Test("Testing: move the time")
    func time() throws {
        func fetchPage() -> Deferred<String> { .never() }
        let clock = ManualClock()
        let answer = fetchPage().timeout(.seconds(5), on: clock)
        clock.advance(by: .seconds(5))
        #expect(try failureResult(of: answer) as? DeferredError == .timedOut)
    }

    @Test("Testing: advance until nothing is left")
    func untilIdle() throws {
        let clock = ManualClock()
        let page = Deferred<String>.retry(attempts: 5, on: clock) { throw NotFound() }
        #expect(clock.advanceUntilIdle())
        #expect(try failureResult(of: page) is NotFound)
    }

    let clock = ManualClock()

    @Test @MainActor func showsText() async {
        let model = PageModel(load: { .resolved("text") })
        model.appear()
        await drainMainActor()
        #expect(model.text == "text")
    }

    @Test @MainActor func showsFailure() async {
        let (page, request) = Deferred<String>.withResolver()
        let model = PageModel(load: { page.timeout(.seconds(5), on: clock) })
        model.appear()
        request.reject(NotFound())
        await drainMainActor()
        #expect(model.message == "NotFound()")
    }

    @Test("Testing: a fake that never answers")
    func fakes() throws {
        let silent: @Sendable () -> Deferred<String> = { .never() }
        let abandoned: @Sendable () -> Deferred<String> = { Deferred() }
        try expectNoResult(silent().map { $0.count })
        #expect(try failureResult(of: abandoned().map { $0.count }) as? DeferredError == .abandoned)
    }

    @Test("Testing: run what was dispatched")
    func dispatched() throws {
        let page = Deferred.resolved("text")
        let queue = ManualDispatcher()
        let length = page.map(on: queue) { $0.count }
        try expectNoResult(length)
        queue.run()
        #expect(try successResult(of: length) == 4)
    }

    @Test("Testing: no unhandled failures")
    func unhandled() throws {
        try expectNoUnhandledFailures {
            let page = Deferred<String>.rejected(NotFound())
            page.fail { _ in }
        }
        func fetchPage() -> Deferred<String> { .resolved("text") }
        try expectNoUnhandledFailures { () throws in
            #expect(try successResult(of: fetchPage()) == "text")
        }
    }
}
