import Deferred
import DeferredTesting
import Testing

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
        let held = Deferred<String>()
        do {
            func fetchPage() -> Deferred<String> { held }
            let clock = ManualClock()
            let answer = fetchPage().timeout(.seconds(5), on: clock)
            clock.advance(by: .seconds(5))
            #expect(try failureResult(of: answer) as? DeferredError == .timedOut)
        }
        do {
            let request = Deferred<String>()
            let clock = ManualClock()
            let answer = request.timeout(.seconds(5), on: clock)
            clock.advance(by: .seconds(5))
            #expect(try failureResult(of: answer) as? DeferredError == .timedOut)
        }
    }

    @Test("Testing: advance until nothing is left")
    func untilIdle() throws {
        let clock = ManualClock()
        let page = Deferred<String>.retry(attempts: 5, on: clock) { throw NotFound() }
        #expect(clock.advanceUntilIdle())
        #expect(try failureResult(of: page) is NotFound)
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
    }
}
