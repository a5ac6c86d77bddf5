import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

@Suite("IdleTimer", .watchdog)
struct IdleTimerTests {
    let clock = ManualClock()

    @Test("expires after the interval, and later where it was reset, with one timer at a time")
    func reset() throws {
        let idle = IdleTimer(after: .seconds(60), timer: clock)
        for _ in 0..<10 {
            clock.advance(by: .seconds(59))
            idle.reset()
            #expect(clock.scheduled.count == 1)
        }
        try expectNoResult(idle.deferred)
        clock.advance(by: .seconds(59))
        try expectNoResult(idle.deferred)
        clock.advance(by: .seconds(1))
        try successResult(of: idle.deferred)
        idle.reset()
        #expect(clock.scheduled.isEmpty)
    }

    @Test("a cancel stops the timer, whichever way", arguments: [true, false])
    func cancel(byTimer: Bool) throws {
        let idle = IdleTimer(after: .seconds(1), timer: clock)
        if byTimer { idle.cancel() } else { idle.deferred.cancel() }
        #expect(clock.scheduled.isEmpty)
        #expect(try failureResult(of: idle.deferred) is CancellationError)
        idle.reset()
        clock.advance(by: .seconds(5))
        #expect(clock.scheduled.isEmpty)
    }

    @Test("Q5, A2: when it is released, it can no longer be reset, and expires when it is due")
    func released() throws {
        var idle: IdleTimer? = IdleTimer(after: .seconds(1), timer: clock)
        weak var watched: IdleTimer?
        watched = idle
        let deferred = idle!.deferred
        clock.advance(by: .milliseconds(500))
        idle?.reset()
        idle = nil
        #expect(watched == nil)
        clock.advance(by: .milliseconds(600))
        try expectNoResult(deferred)
        clock.advance(by: .milliseconds(400))
        try successResult(of: deferred)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("reset with another interval: a longer one as well as a shorter one, which takes effect at once")
    func otherInterval() throws {
        let idle = IdleTimer(after: .seconds(60), timer: clock)
        idle.reset(.seconds(5))
        #expect(clock.scheduled == [.seconds(5)])
        clock.advance(by: .seconds(4))
        idle.reset(.seconds(100))
        clock.advance(by: .seconds(99))
        try expectNoResult(idle.deferred)
        idle.reset()
        clock.advance(by: .seconds(99))
        try expectNoResult(idle.deferred)
        idle.reset(.seconds(-1))
        clock.advance()
        try successResult(of: idle.deferred)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("C1: a timer that is cancelled just as it is set is stopped")
    func cancelledWhileSet() throws {
        let dispatcher = ObservedClock(clock: clock)
        let idle = IdleTimer(after: .seconds(1), timer: dispatcher)
        dispatcher.at(dispatcher.beforeTimer) { idle.cancel() }
        idle.reset(.milliseconds(500))
        #expect(clock.scheduled.isEmpty)
    }

    @Test("C1: a timer that is cancelled just before it is set anew does not stay set")
    func cancelledBeforeSet() throws {
        let dispatcher = ObservedClock(clock: clock)
        let idle = IdleTimer(after: .seconds(1), timer: dispatcher)
        clock.advance(by: .milliseconds(500))
        idle.reset()
        // The timer has expired too early, and another is about to be set.
        dispatcher.at(dispatcher.afterElapsed) { idle.cancel() }
        clock.advance(by: .milliseconds(500))
        #expect(clock.scheduled.isEmpty)
        #expect(try failureResult(of: idle.deferred) is CancellationError)
    }

    @Test("an interval of zero expires as soon as the dispatcher gets to it")
    func zero() throws {
        let idle = IdleTimer(after: .zero, timer: clock)
        try expectNoResult(idle.deferred)
        clock.advance()
        try successResult(of: idle.deferred)
    }
}
