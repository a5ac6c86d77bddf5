import Deferred
import DeferredTesting
import TestSupport
import Testing

@Suite("repeating", .watchdog)
struct RepeatingTests {
    let clock = ManualClock()
    let log = SharedLog<String>()

    private func note() { log.add("\(clock.elapsed.components.seconds)") }

    @Test("runs now and at every interval, each run once")
    func everyInterval() throws {
        let repeating = Deferred.repeating(every: .seconds(2), timer: clock) { note() }
        clock.advance(by: .seconds(5))
        #expect(log.all == ["0", "2", "4"])
        try expectNoResult(repeating)
        repeating.cancel()
    }

    @Test("runs that fall due during a run are skipped, and the next one is at a whole interval again")
    func skipsMissed() {
        let first = Deferred<Void>()
        let repeating = Deferred.repeating(every: .seconds(2), timer: clock) { () -> Deferred<Void> in
            note()
            return log.all.count == 1 ? first : .resolved()
        }
        clock.advance(by: .seconds(5))
        #expect(log.all == ["0"])
        first.resolve()
        clock.advance(by: .seconds(4))
        #expect(log.all == ["0", "6", "8"])
        repeating.cancel()
    }

    @Test(
        "a timer that is early does not make a run happen twice, and one that is late does not shift the next"
    )
    func inaccurateTimers() {
        let early = ObservedClock(clock: clock, lateness: .milliseconds(-1))
        let repeating = Deferred.repeating(every: .seconds(2), timer: early) { note() }
        clock.advance(by: .seconds(9))
        #expect(log.all == ["0", "1", "3", "5", "7"])
        repeating.cancel()

        let (lateClock, lateLog) = (ManualClock(), SharedLog<String>())
        let late = ObservedClock(clock: lateClock, lateness: .milliseconds(300))
        let other = Deferred.repeating(every: .seconds(2), timer: late) {
            lateLog.add("\(lateClock.elapsed)")
        }
        lateClock.advance(by: .seconds(7))
        #expect(lateLog.all == ["0.0 seconds", "2.3 seconds", "4.3 seconds", "6.3 seconds"])
        other.cancel()
    }

    @Test("a failure ends it, thrown or returned, and is its outcome")
    func bodyFails() throws {
        let throwing = Deferred.repeating(every: .seconds(1), timer: clock) {
            note()
            if log.all.count == 3 { throw TestError() }
        }
        clock.advance(by: .seconds(10))
        #expect(log.all == ["0", "1", "2"])
        #expect(try failureResult(of: throwing) is TestError)
        let failing = Deferred.repeating(every: .seconds(1), timer: clock) {
            Deferred<Void>.rejected(TestError())
        }
        #expect(try failureResult(of: failing) is TestError)
        #expect(clock.scheduled.isEmpty)
    }

    @Test(
        "C4: a cancel between runs stops the timer, one during a run cancels the Deferred that the body returned"
    )
    func cancel() throws {
        let between = Deferred.repeating(every: .seconds(1), timer: clock) { note() }
        between.cancel()
        #expect(try failureResult(of: between) is CancellationError)
        #expect(clock.scheduled.isEmpty)

        let body = Deferred<Void>()
        let during = Deferred.repeating(every: .seconds(1), timer: clock) { body }
        during.cancel()
        #expect(try failureResult(of: body) is CancellationError)
        #expect(try failureResult(of: during) is CancellationError)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("C5: a cancel from inside a run lets it finish, and is the last")
    func cancelFromInside() throws {
        let holder = SpinLocked<Deferred<Void>?>(nil)
        let repeating = Deferred.repeating(every: .seconds(1), timer: clock) {
            note()
            if log.all.count == 3 { holder.withLock { $0 }?.cancel() }
        }
        holder.withLock { $0 = repeating }
        clock.advance(by: .seconds(10))
        #expect(log.all == ["0", "1", "2"])
        #expect(try failureResult(of: repeating) is CancellationError)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("an asynchronous body runs in a Task, and the next run waits for it")
    func asynchronous() async throws {
        let (entered, gate) = (DeferredQueue<Int>(), DeferredQueue<Void>())
        let repeating = Deferred.repeating(every: .seconds(1), timer: clock) {
            Deferred {
                try entered.put(1)
                try await gate.get().value
            }
        }
        _ = try await entered.get().value
        #expect(clock.scheduled.isEmpty)
        try gate.put(())
        try await clock.whenScheduled().value
        clock.advance(by: .seconds(1))
        _ = try await entered.get().value
        repeating.cancel()
    }

    @Test("an interval of zero runs as soon as the dispatcher gets to it; a negative one is refused")
    func intervals() throws {
        let dispatcher = Deferred.repeating(every: .zero, timer: clock) {
            note()
            if log.all.count == 1000 { throw TestError() }
        }
        #expect(log.all.count == 1)
        clock.advance()
        #expect(log.all.count == 1000)
        #expect(try failureResult(of: dispatcher) is TestError)
        let refused = Deferred.repeating(every: .seconds(-1), timer: clock) { note() }
        #expect(
            try failureResult(of: refused) as? DeferredError
                == .invalidArgument("repeating: the interval must not be negative, is -1.0 seconds"))
    }

    @Test("repeats on a real queue")
    func onQueue() async {
        let repeating = Deferred.repeating(every: .microseconds(100)) {
            log.add("tick")
            if log.all.count == 5 { throw TestError() }
        }
        await #expect(throws: TestError.self) { try await repeating.value }
    }
}
