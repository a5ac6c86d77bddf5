import Deferred
import DeferredTesting
import TestSupport
import Testing

@Suite("after", .watchdog)
struct AfterTests {
    let clock = ManualClock()

    @Test("is resolved when the delay has passed and not before, inside advance")
    func resolves() throws {
        let later = Deferred.after(.seconds(2), timer: clock, value: "x")
        let done = Deferred.after(.seconds(2), timer: clock)
        clock.advance(by: .seconds(1))
        try expectNoResult(later)
        clock.advance(by: .seconds(1))
        #expect(try successResult(of: later) == "x")
        try successResult(of: done)
    }

    @Test(
        "with a callback it is deferLater: the callback runs after the delay, and may return, throw or wait")
    func body() throws {
        let value = Deferred.after(.seconds(1), timer: clock).map { 5 }
        let thrown: Deferred<Int> = Deferred.after(.seconds(1), timer: clock).map { throw TestError() }
        let inner = Deferred<Int>()
        let nested = Deferred.after(.seconds(1), timer: clock).then { inner }
        try expectNoResult(value)
        clock.advance(by: .seconds(1))
        #expect(try successResult(of: value) == 5)
        #expect(try failureResult(of: thrown) is TestError)
        try expectNoResult(nested)
        inner.resolve(6)
        #expect(try successResult(of: nested) == 6)
    }

    @Test("C1: a cancel stops the timer and releases the value")
    func cancel() throws {
        var object: SharedLog<String>? = SharedLog<String>()
        weak var watched: SharedLog<String>?
        watched = object
        let later = Deferred.after(.seconds(1), timer: clock, value: object)
        object = nil
        later.cancel()
        #expect(try failureResult(of: later) is CancellationError)
        #expect(watched == nil)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("delays and time limits of zero or less are as soon as possible, but not before the call returns")
    func noDelay() throws {
        let now = Deferred.after(.zero, timer: clock, value: 1)
        let past = Deferred.after(.seconds(-5), timer: clock, value: 2)
        let limited = Deferred<Int>.never().timeout(.seconds(-5), timer: clock)
        let idle = IdleTimer(after: .seconds(-5), timer: clock)
        for pending in [now, past, limited] { try expectNoResult(pending) }
        try expectNoResult(idle.deferred)
        clock.advance()
        #expect(try successResult(of: now) == 1)
        #expect(try successResult(of: past) == 2)
        #expect(try failureResult(of: limited) as? DeferredError == .timedOut)
        try successResult(of: idle.deferred)
    }

    @Test("works on real dispatch queues")
    func onQueue() async throws {
        #expect(try await Deferred.after(.microseconds(10), value: 1).value == 1)
        #expect(try await Deferred.after(.zero, timer: .global()).map { 2 }.value == 2)
    }
}
