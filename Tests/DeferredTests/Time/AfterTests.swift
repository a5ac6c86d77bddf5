import Deferred
import DeferredTesting
import Testing

@Suite("after")
struct AfterTests {
    struct Oops: Error {}
    let clock = ManualClock()

    @Test("fires when the time has come and not before, inside advance")
    func fires() throws {
        let later = Deferred.after(.seconds(2), on: clock, value: "x")
        let unlabelled = Deferred.after(.seconds(2), on: clock, 7)
        let done = Deferred.after(.seconds(2), on: clock)
        clock.advance(by: .seconds(1))
        try expectNoResult(later)
        clock.advance(by: .seconds(1))
        #expect(try successResult(of: unlabelled) == 7)
        #expect(try successResult(of: later) == "x")
        try successResult(of: done)
    }

    @Test("with a callback it is deferLater: that runs then, and may return, throw or wait")
    func body() throws {
        let value = Deferred.after(.seconds(1), on: clock).then { 5 }
        let thrown: Deferred<Int> = Deferred.after(.seconds(1), on: clock).then { throw Oops() }
        let inner = Deferred<Int>()
        let nested = Deferred.after(.seconds(1), on: clock).then { inner }
        try expectNoResult(value)
        clock.advance(by: .seconds(1))
        #expect(try successResult(of: value) == 5)
        #expect(try failureResult(of: thrown) is Oops)
        try expectNoResult(nested)
        inner.resolve(6)
        #expect(try successResult(of: nested) == 6)
    }

    @Test("C1: a cancel stops the timer and lets go of the value")
    func cancel() throws {
        var object: EventLog? = EventLog()
        weak let watched = object
        let later = Deferred.after(.seconds(1), on: clock, value: object)
        object = nil
        later.cancel()
        #expect(try failureResult(of: later) is CancellationError)
        #expect(watched == nil)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("C4: a cancel after the time cancels what its callback gave")
    func cancelNested() throws {
        let inner = Deferred<Int>()
        let later = Deferred.after(.seconds(1), on: clock).then { inner }
        clock.advance(by: .seconds(1))
        later.cancel()
        #expect(try failureResult(of: inner) is CancellationError)
        #expect(try failureResult(of: later) is CancellationError)
    }

    @Test("zero and negative delays are as soon as possible, but not before the call returns")
    func noDelay() throws {
        let now = Deferred.after(.zero, on: clock, value: 1)
        let past = Deferred.after(.seconds(-5), on: clock, value: 2)
        try expectNoResult(now)
        clock.advance()
        #expect(try successResult(of: now) == 1)
        #expect(try successResult(of: past) == 2)
    }

    @Test("works on real dispatch queues")
    func onQueue() async throws {
        #expect(try await Deferred.after(.microseconds(10), value: 1).value == 1)
        #expect(try await Deferred.after(.zero, on: .global()).then { 2 }.value == 2)
    }

    @Test("A2: once fired, neither timer nor value is held")
    func lifetime() {
        weak var watched: EventLog?
        do {
            let object = EventLog()
            watched = object
            _ = Deferred.after(.seconds(1), on: clock, value: object)
        }
        #expect(watched != nil)
        clock.advance(by: .seconds(1))
        #expect(watched == nil)
    }
}
