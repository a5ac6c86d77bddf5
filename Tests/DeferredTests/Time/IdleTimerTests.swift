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

    @Test("Q5, A2: when it is released, it can no longer be postponed, and expires when it is due")
    func released() throws {
        var idle: IdleTimer? = IdleTimer(after: .seconds(1), on: clock)
        weak var watched: IdleTimer?
        watched = idle
        let deferred = idle!.deferred
        clock.advance(by: .milliseconds(500))
        idle?.postpone()
        idle = nil
        #expect(watched == nil)
        clock.advance(by: .milliseconds(600))
        try expectNoResult(deferred)
        clock.advance(by: .milliseconds(400))
        try successResult(of: deferred)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("postpone with another interval: a longer one as well as a shorter one, which takes effect at once")
    func otherInterval() throws {
        let idle = IdleTimer(after: .seconds(60), on: clock)
        idle.postpone(.seconds(5))
        #expect(clock.scheduled == [.seconds(5)])
        clock.advance(by: .seconds(4))
        idle.postpone(.seconds(100))
        clock.advance(by: .seconds(99))
        try expectNoResult(idle.deferred)
        idle.postpone()
        clock.advance(by: .seconds(99))
        try expectNoResult(idle.deferred)
        idle.postpone(.seconds(-1))
        clock.advance()
        try successResult(of: idle.deferred)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("C1: a timer that is cancelled just as it is set is stopped")
    func cancelledWhileSet() throws {
        let dispatcher = ObservedClock(clock: clock)
        let idle = IdleTimer(after: .seconds(1), on: dispatcher)
        dispatcher.at(dispatcher.beforeTimer) { idle.cancel() }
        idle.postpone(.milliseconds(500))
        #expect(clock.scheduled.isEmpty)
    }

    @Test("C1: a timer that is cancelled just before it is set anew does not stay set")
    func cancelledBeforeSet() throws {
        let dispatcher = ObservedClock(clock: clock)
        let idle = IdleTimer(after: .seconds(1), on: dispatcher)
        clock.advance(by: .milliseconds(500))
        idle.postpone()
        // The timer has expired too early, and another is about to be set.
        dispatcher.at(dispatcher.afterElapsed) { idle.cancel() }
        clock.advance(by: .milliseconds(500))
        #expect(clock.scheduled.isEmpty)
        #expect(try failureResult(of: idle.deferred) is CancellationError)
    }

    @Test("an interval of zero expires as soon as the dispatcher gets to it")
    func zero() throws {
        let idle = IdleTimer(after: .zero, on: clock)
        try expectNoResult(idle.deferred)
        clock.advance()
        try successResult(of: idle.deferred)
    }
}
