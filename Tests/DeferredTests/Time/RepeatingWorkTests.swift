import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

@Suite("repeating: counts and reset", .watchdog)
struct RepeatingWorkTests {
    let clock = ManualClock()
    let log = SharedLog<String>()

    private func note(_ count: Int) { log.add("\(count) at \(clock.elapsed.components.seconds)") }

    @Test("withCount passes the number of intervals since the last run: 1, or more where runs were skipped")
    func counts() {
        let long = Deferred<Void>()
        let repeating = Deferred.repeating(every: .seconds(2), timer: clock) { count -> Deferred<Void> in
            note(count)
            return log.all.count == 3 ? long : .resolved()
        }
        clock.advance(by: .seconds(11))
        #expect(log.all == ["1 at 0", "1 at 2", "1 at 4"])
        long.resolve()
        clock.advance(by: .seconds(3))
        #expect(log.all.dropFirst(3) == ["4 at 12", "1 at 14"])
        repeating.cancel()
    }

    @Test("withCount: a dispatcher that is late has the intervals counted that passed meanwhile")
    func lateDispatcher() {
        let late = LateTimerTests.LateDispatcher(clock: clock)
        let repeating = Deferred.repeating(
            every: .seconds(2), timer: late, startsNow: false, withCount: { count in note(count) })
        clock.advance(by: .seconds(2))
        clock.advance(by: .seconds(3))
        late.runAll()
        #expect(log.all == ["2 at 5"])
        clock.advance(by: .seconds(1))
        late.runAll()
        #expect(log.all == ["2 at 5", "1 at 6"])
        repeating.cancel()
    }

    @Test("withCount is 1 for an interval of zero, and the asynchronous form has it too")
    func otherForms() async throws {
        let zero = Deferred.repeating(
            every: .zero, timer: clock,
            withCount: { count in
                note(count)
                if log.all.count == 3 { throw TestError() }
            })
        clock.advance()
        #expect(log.all == ["1 at 0", "1 at 0", "1 at 0"])
        #expect(try failureResult(of: zero) is TestError)
        let counts = DeferredQueue<Int>()
        let asynchronous = Deferred.repeating(
            every: .seconds(1), timer: clock, withCount: { count in Deferred<Void> { try counts.put(count) } }
        )
        #expect(try await counts.get().value == 1)
        asynchronous.cancel()
    }

    @Test("reset postpones the next run by a whole interval, and later runs with it")
    func reset() {
        let work = RepeatingWork(every: .seconds(10), timer: clock, withCount: { count in note(count) })
        clock.advance(by: .seconds(7))
        work.reset()
        #expect(clock.scheduled.count == 1)
        clock.advance(by: .seconds(9))
        #expect(log.all == ["1 at 0"])
        clock.advance(by: .seconds(1))
        #expect(log.all == ["1 at 0", "1 at 17"])
        clock.advance(by: .seconds(10))
        #expect(log.all == ["1 at 0", "1 at 17", "1 at 27"])
        work.cancel()
        #expect(clock.scheduled.isEmpty)
    }

    @Test("reset after the timer expired, before the run begins: the next is due one interval later")
    func resetBeforeRunBegins() {
        let dispatcher = ObservedClock(clock: clock)
        let work = RepeatingWork(
            every: .seconds(10), timer: dispatcher, startsNow: false, withCount: { count in note(count) })
        clock.advance(by: .seconds(20))
        dispatcher.at(dispatcher.beforeElapsed) { work.reset() }
        clock.advance(by: .seconds(10))
        #expect(log.all == ["1 at 10", "1 at 20", "1 at 30"])
        #expect(clock.scheduled == [.seconds(10)])
        clock.advance(by: .seconds(20))
        #expect(log.all.dropFirst(3) == ["1 at 40", "1 at 50"])
        work.cancel()
    }

    @Test("Q-f: of two resets on different threads, the later one counts, though it is noted first")
    func racingResets() {
        let dispatcher = ObservedClock(clock: clock)
        let work = RepeatingWork(
            every: .seconds(10), timer: dispatcher, startsNow: false, withCount: { count in note(count) })
        clock.advance(by: .seconds(5))
        // After the first reset has read the time 5, and before it uses that.
        dispatcher.at(dispatcher.afterElapsed) {
            clock.advance(by: .seconds(1))
            work.reset()
        }
        work.reset()
        clock.advance(by: .milliseconds(9999))
        #expect(log.all.isEmpty)
        clock.advance(by: .milliseconds(1))
        #expect(log.all == ["1 at 16"])
        work.cancel()
    }

    @Test("Q-f: a reset while a timer is being set counts from the reset, and the run is not late")
    func resetWhileSettingTimer() {
        for read in 1...2 {
            let (clock, ran) = (ManualClock(), SharedLog<String>())
            let dispatcher = ObservedClock(clock: clock)
            let work = RepeatingWork(every: .seconds(10), timer: dispatcher, startsNow: false) {
                ran.add("\(clock.elapsed.components.seconds)")
            }
            clock.advance(by: .seconds(9))
            // In the work of the timer that expires, after it has read the time so often.
            dispatcher.at(dispatcher.afterElapsed, read) {
                clock.advance(by: .seconds(1))
                work.reset()
            }
            clock.advance(by: .seconds(1))
            clock.advance(by: .seconds(20))
            // Before that the run that was due at 10; then every 10 seconds from the reset at 11.
            #expect(ran.all.suffix(2) == ["21", "31"] && ran.all.count == 3, "read \(read): \(ran.all)")
            work.cancel()
        }
    }

    @Test("stop: lets the run in progress end, starts no further one, and then succeeds")
    func stop() throws {
        let runs = [Deferred<Void>(), Deferred<Void>()]
        let work = RepeatingWork(every: .seconds(10), timer: clock) { () -> Deferred<Void> in
            note(0)
            return runs[log.all.count - 1]
        }
        runs[0].resolve()
        clock.advance(by: .seconds(10))
        try expectNoResult(work.stop())
        try expectNoResult(runs[1])
        runs[1].resolve()
        try successResult(of: work.deferred)
        clock.advance(by: .seconds(60))
        #expect(log.all == ["0 at 0", "0 at 10"] && clock.scheduled.isEmpty)
        work.reset()
        try successResult(of: work.stop())
    }

    @Test("stop while it waits succeeds at once, and stop from inside a run after that")
    func stopWaiting() throws {
        let work = RepeatingWork(every: .seconds(10), timer: clock) { note(0) }
        try successResult(of: work.stop())
        #expect(clock.scheduled.isEmpty)
        let holder = SpinLocked<RepeatingWork?>(nil)
        let inside = RepeatingWork(every: .seconds(10), timer: clock, startsNow: false) {
            note(1)
            holder.withLock { $0 }?.stop()
        }
        holder.withLock { $0 = inside }
        clock.advance(by: .seconds(60))
        try successResult(of: inside.deferred)
        #expect(log.all == ["0 at 0", "1 at 10"] && clock.scheduled.isEmpty)
        holder.withLock { $0 = nil }
    }

    @Test("Q5: the failure of the last run is that of work that was stopped; a cancel after stop cancels it")
    func stopFailing() throws {
        let run = Deferred<Void>()
        let work = RepeatingWork(every: .seconds(1), timer: clock) { run }
        work.stop()
        run.reject(TestError())
        #expect(try failureResult(of: work.deferred) is TestError)
        let cancelled = RepeatingWork(every: .seconds(1), timer: clock) { Deferred<Void>.never() }
        cancelled.stop()
        cancelled.cancel()
        #expect(try failureResult(of: cancelled.deferred) is CancellationError)
    }

    @Test("the interval can be changed: the next run is one new interval from then")
    func changedInterval() {
        let work = RepeatingWork(every: .seconds(10), timer: clock, withCount: { count in note(count) })
        clock.advance(by: .seconds(15))
        work.interval = .seconds(2)
        #expect(work.interval == .seconds(2) && clock.scheduled == [.seconds(2)])
        clock.advance(by: .seconds(4))
        work.interval = .seconds(100)
        clock.advance(by: .seconds(100))
        #expect(log.all == ["1 at 0", "1 at 10", "1 at 17", "1 at 19", "1 at 119"])
        work.interval = .seconds(-1)
        #expect(work.interval == .zero)
        work.cancel()
    }

    @Test("C1: repeating work that is cancelled just as its timer is set stops that")
    func cancelledWhileSet() throws {
        let dispatcher = ObservedClock(clock: clock)
        let work = RepeatingWork(every: .seconds(1), timer: dispatcher, startsNow: false) { note(0) }
        dispatcher.at(dispatcher.beforeTimer) { work.cancel() }
        clock.advance(by: .seconds(1))
        #expect(clock.scheduled.isEmpty)
        #expect(try failureResult(of: work.deferred) is CancellationError)
    }

    @Test("reset after the end does nothing; a failure ends the work, which stands for its Deferred")
    func ended() throws {
        let work = RepeatingWork(every: .seconds(1), timer: clock) { throw TestError() }
        #expect(try failureResult(of: work.deferred) is TestError)
        work.reset()
        work.cancel()
        #expect(clock.scheduled.isEmpty)
        let chained = Deferred.resolved().then { RepeatingWork(every: .seconds(1), timer: clock) { note(0) } }
        chained.cancel()
        #expect(clock.scheduled.isEmpty)
    }
}
