import DeferredTesting
import Testing

@testable import Deferred

@Suite("IdleTimer")
struct IdleTimerTests {
    let clock = ManualClock()

    @Test("expires after the interval, and later where it was postponed, with one timer at a time")
    func postpone() throws {
        let idle = IdleTimer(after: .seconds(60), on: clock)
        for _ in 0..<10 {
            clock.advance(by: .seconds(59))
            idle.postpone()
            #expect(clock.scheduled.count == 1)
        }
        try expectNoResult(idle.deferred)
        clock.advance(by: .seconds(59))
        try expectNoResult(idle.deferred)
        clock.advance(by: .seconds(1))
        try successResult(of: idle.deferred)
        idle.postpone()
        #expect(clock.scheduled.isEmpty)
    }

    @Test("its Deferred is resolved on the dispatcher, and may stand in a chain")
    func inChain() throws {
        let idle = IdleTimer(after: .seconds(1), on: clock)
        let closed = Deferred.resolved().then { idle }.map { "closed" }
        clock.advance(by: .seconds(1))
        #expect(try successResult(of: closed) == "closed")
    }

    @Test("a cancel stops the timer, whichever way", arguments: [true, false])
    func cancel(byTimer: Bool) throws {
        let idle = IdleTimer(after: .seconds(1), on: clock)
        if byTimer { idle.cancel() } else { idle.deferred.cancel() }
        #expect(clock.scheduled.isEmpty)
        #expect(try failureResult(of: idle.deferred) is CancellationError)
        idle.postpone()
        clock.advance(by: .seconds(5))
        #expect(clock.scheduled.isEmpty)
    }

    @Test("A1, A2: when it is released, its timer is stopped and its Deferred fails with .abandoned")
    func released() throws {
        var idle: IdleTimer? = IdleTimer(after: .seconds(1), on: clock)
        weak var watched: IdleTimer?
        watched = idle
        let deferred = idle!.deferred
        clock.advance(by: .milliseconds(500))
        idle?.postpone()
        clock.advance(by: .milliseconds(600))
        idle = nil
        #expect(watched == nil)
        #expect(clock.scheduled.isEmpty)
        #expect(try failureResult(of: deferred) as? DeferredError == .abandoned)
    }

    @Test("an interval of zero expires as soon as the dispatcher gets to it")
    func zero() throws {
        let idle = IdleTimer(after: .zero, on: clock)
        try expectNoResult(idle.deferred)
        clock.advance()
        try successResult(of: idle.deferred)
    }
}
