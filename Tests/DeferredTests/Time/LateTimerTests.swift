import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

/// Timers that expire late, or a little early, as on a busy machine: no run is skipped, and none is made twice.
@Suite("Timers that expire late", .watchdog)
struct LateTimerTests {
    let clock = ManualClock()
    let log = SharedLog<String>()

    private func note(_ count: Int) { log.add("\(count) at \(clock.elapsed.components.seconds)") }

    @Test("Q5: a run that was postponed, and is overdue when the timer expires, is made then")
    func overdueAfterReset() {
        let late = LateDispatcher(clock: clock)
        let work = RepeatingWork(every: .seconds(10), timer: late, startsNow: false, withCount: { note($0) })
        clock.advance(by: .seconds(7))
        work.reset()
        // The timer expires at 10, and its work runs at 28; the run was due at 17.
        clock.advance(by: .seconds(21))
        late.runAll()
        #expect(log.all == ["2 at 28"])
        clock.advance(by: .seconds(9))
        late.runAll()
        #expect(log.all == ["2 at 28", "1 at 37"])
        work.cancel()
    }

    @Test("Q5: a run that becomes overdue while its timer is set anew is made at once")
    func overdueWhileSet() {
        let dispatcher = ObservedClock(clock: clock)
        let work = RepeatingWork(
            every: .seconds(10), timer: dispatcher, startsNow: false, withCount: { note($0) })
        clock.advance(by: .seconds(5))
        // The first time is that of the change, the second that of the new timer.
        dispatcher.at(dispatcher.beforeElapsed, 2) { clock.advance(by: .seconds(3)) }
        work.interval = .seconds(1)
        clock.advance()
        #expect(log.all == ["3 at 8"])
        clock.advance(by: .seconds(1))
        #expect(log.all == ["3 at 8", "1 at 9"])
        work.cancel()
    }

    @Test("Q5: a first run that becomes overdue while the work is created is made at once")
    func overdueFirst() {
        let dispatcher = ObservedClock(clock: clock)
        dispatcher.at(dispatcher.afterElapsed) { clock.advance(by: .seconds(25)) }
        let work = RepeatingWork(
            every: .seconds(10), timer: dispatcher, startsNow: false, withCount: { note($0) })
        clock.advance()
        #expect(log.all == ["2 at 25"])
        clock.advance(by: .seconds(5))
        #expect(log.all == ["2 at 25", "1 at 30"])
        work.cancel()
    }

    @Test("Q-f: a reset that has read the time before a run, and is noted after it, does not repeat the run")
    func resetAcrossRun() {
        let dispatcher = ObservedClock(clock: clock)
        let work = RepeatingWork(every: .seconds(10), timer: dispatcher, startsNow: false) { note(1) }
        dispatcher.at(dispatcher.afterElapsed) { clock.advance(by: .seconds(10)) }
        work.reset()
        clock.advance(by: .seconds(9))
        #expect(log.all == ["1 at 10"])
        clock.advance(by: .seconds(1))
        #expect(log.all == ["1 at 10", "1 at 20"])
        work.cancel()
    }

    @Test("what falls due during a run is skipped, also where the work was postponed during the run")
    func skippedDuringRun() {
        let long = Deferred<Void>()
        let work = RepeatingWork(every: .seconds(10), timer: clock, startsNow: false) {
            count -> Deferred<Void> in
            note(count)
            return log.all.count == 1 ? long : .resolved()
        }
        clock.advance(by: .seconds(14))
        work.reset()
        clock.advance(by: .seconds(25))
        long.resolve()
        clock.advance(by: .seconds(4))
        #expect(log.all == ["1 at 10"])
        clock.advance(by: .seconds(1))
        #expect(log.all == ["1 at 10", "3 at 44"])
        work.cancel()
    }

    @Test("Q5: an IdleTimer that was postponed, and is overdue when its timer expires, expires then")
    func overdueIdleTimer() throws {
        let late = LateDispatcher(clock: clock)
        let idle = IdleTimer(after: .seconds(10), timer: late)
        clock.advance(by: .seconds(7))
        idle.reset()
        clock.advance(by: .seconds(21))
        late.runAll()
        try successResult(of: idle.deferred)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("DeferredLatest: a call whose pause ends late runs then, unless a further call came first")
    func latest() throws {
        let late = LateDispatcher(clock: clock)
        let latest = DeferredLatest(debounce: .seconds(1), timer: late)
        let first = latest.run { Deferred.resolved(1) }
        clock.advance(by: .seconds(5))
        let second = latest.run { Deferred.resolved(2) }
        late.runAll()
        #expect(try failureResult(of: first) is CancellationError)
        try expectNoResult(second)
        clock.advance(by: .seconds(5))
        late.runAll()
        #expect(try successResult(of: second) == 2)
    }

    @Test("retry: an attempt whose pause ends late is made then, also after the total time")
    func retry() throws {
        let late = LateDispatcher(clock: clock)
        let result = Deferred.retry(within: .seconds(3), delay: .constant(.seconds(2)), timer: late) {
            number in
            note(number)
            return number == 1 ? .rejected(TestError()) : .resolved(number)
        }
        clock.advance(by: .seconds(5))
        try expectNoResult(result)
        late.runAll()
        #expect(try successResult(of: result) == 2)
        #expect(log.all == ["1 at 0", "2 at 5"])
    }

    @Test("timeout: an outcome that comes before a late timer's work runs is in time")
    func timeout() throws {
        let late = LateDispatcher(clock: clock)
        let source = Deferred<Int>()
        let limited = source.timeout(.seconds(1), timer: late)
        clock.advance(by: .seconds(5))
        source.resolve(1)
        late.runAll()
        #expect(try successResult(of: limited) == 1)
    }

    @Test(
        "a timer that expires a little early has its run made then, once, and the next a whole interval later"
    )
    func early() throws {
        let dispatcher = ObservedClock(clock: clock, lateness: .milliseconds(-1))
        let repeating = Deferred.repeating(every: .seconds(10), timer: dispatcher, startsNow: false) {
            note(1)
            // Without its guard, it repeats the run until the interval has passed.
            if log.all.count == 5 { throw TestError() }
        }
        clock.advance(by: .seconds(39))
        #expect(log.all == ["1 at 9", "1 at 19", "1 at 29"])
        try expectNoResult(repeating)
        repeating.cancel()
    }

    /// Its timers expire on time, but their work waits until the test runs it.
    struct LateDispatcher: DelayedDispatcher {
        let clock: ManualClock
        let waiting = ManualDispatcher()
        var elapsed: Duration { clock.elapsed }
        func dispatch(_ work: @escaping @Sendable () -> Void) { waiting.dispatch(work) }
        func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
            clock.dispatch(after: delay) { waiting.dispatch(work) }
        }
        func runAll() { waiting.run() }
    }
}
