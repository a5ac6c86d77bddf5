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

    @Test("Q5: where the dispatcher releases the timer, it is abandoned", arguments: [true, false])
    func dispatcherReleased(isPostponed: Bool) throws {
        var clock: ManualClock? = ManualClock()
        let idle = IdleTimer(after: .seconds(1), on: RepeatingWorkTests.Unowned(clock: clock!))
        if isPostponed {
            clock?.advance(by: .milliseconds(500))
            idle.postpone()
            clock?.advance(by: .milliseconds(500))
        }
        clock = nil
        #expect(try failureResult(of: idle.deferred) as? DeferredError == .abandoned)
        idle.postpone()
        idle.cancel()
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

    @Test("C1: a timer that is cancelled just as it is set is stopped", arguments: [1, 2])
    func cancelledWhileSet(timer: Int) throws {
        let dispatcher = CancellingDispatcher(clock: clock, timer: timer)
        let idle = IdleTimer(after: .seconds(1), on: dispatcher)
        dispatcher.deferred.withLock { $0 = idle.deferred }
        idle.postpone(.milliseconds(500))
        #expect(clock.scheduled.isEmpty == (timer == 2))
        idle.cancel()
        #expect(clock.scheduled.isEmpty)
    }

    @Test("C1: a timer that is cancelled just before it is set anew does not stay set")
    func cancelledBeforeSet() throws {
        let dispatcher = RepeatingWorkTests.ObservedDispatcher(clock: clock)
        let idle = IdleTimer(after: .seconds(1), on: dispatcher)
        clock.advance(by: .milliseconds(500))
        idle.postpone()
        // The timer has expired too early, and another is about to be set.
        dispatcher.afterElapsed(1) { idle.cancel() }
        clock.advance(by: .milliseconds(500))
        #expect(clock.scheduled.isEmpty)
        #expect(try failureResult(of: idle.deferred) is CancellationError)
    }

    /// Cancels a Deferred while its timer of that number is being set.
    final class CancellingDispatcher: DelayedDispatcher {
        let deferred = SpinLocked<Deferred<Void>?>(nil)
        private let clock: ManualClock
        private let rest: SpinLocked<Int>

        init(clock: ManualClock, timer: Int) {
            self.clock = clock
            rest = SpinLocked(timer)
        }

        var elapsed: Duration { clock.elapsed }
        func dispatch(_ work: @escaping @Sendable () -> Void) { clock.dispatch(work) }
        func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
            let isThis = rest.withLock { rest in
                rest -= 1
                return rest == 0
            }
            if isThis { deferred.withLock { $0 }?.cancel() }
            return clock.dispatch(after: delay, work)
        }
    }

    @Test("an interval of zero expires as soon as the dispatcher gets to it")
    func zero() throws {
        let idle = IdleTimer(after: .zero, on: clock)
        try expectNoResult(idle.deferred)
        clock.advance()
        try successResult(of: idle.deferred)
    }
}
