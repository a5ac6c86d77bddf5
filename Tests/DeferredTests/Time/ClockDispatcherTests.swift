import Deferred
import DeferredTesting
import TestSupport
import Testing

@Suite("Swift clocks as dispatchers", .watchdog)
struct ClockDispatcherTests {
    let clock = ManualClock()

    @Test("delayed work runs when the clock's sleep ends")
    func delays() async throws {
        let later = Deferred.after(.seconds(2), timer: .clock(clock), value: 1)
        try await clock.whenScheduled().value
        #expect(clock.description == "ManualClock at 0.0 seconds, 1 scheduled: in 2.0 seconds")
        clock.advance(by: .seconds(2))
        #expect(try await later.value == 1)
    }

    @Test("work without a delay runs soon")
    func dispatches() async throws {
        #expect(try await Deferred.resolved(1).map(on: .clock(clock)) { $0 + 1 }.value == 2)
    }

    @Test("C1: a cancel ends the sleep, and releases the work at once")
    func cancel() async throws {
        weak var watched: SharedLog<String>?
        let later: Deferred<SharedLog<String>>
        do {
            let object = SharedLog<String>()
            watched = object
            later = Deferred.after(.seconds(2), timer: .clock(clock), value: object)
        }
        try await clock.whenScheduled().value
        later.cancel()
        #expect(try failureResult(of: later) is CancellationError)
        #expect(watched == nil)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("its time is that of the clock")
    func elapsed() {
        let dispatcher = ClockDispatcher(clock)
        clock.advance(by: .seconds(3))
        #expect(dispatcher.elapsed == .seconds(3))
        let continuous = ClockDispatcher(.continuous)
        #expect(continuous.elapsed >= .zero)
    }

    @Test("the longest delay is clamped to a hundred years, which every clock can sleep")
    func longest() async throws {
        let later = Deferred.after(.seconds(Int64.max), timer: .clock(clock), value: 1)
        try await clock.whenScheduled().value
        #expect(clock.scheduled == [.seconds(100 * 366 * 86_400)])
        later.cancel()
        let dispatcher = ClockDispatcher(ContinuousClock())
        let pending = dispatcher.dispatch(after: .seconds(Int64.max)) { Issue.record("time flies") }
        pending.cancel()
    }

    @Test("the standard clocks work for timeouts and retries")
    func standardClocks() async throws {
        let never = Deferred<Int>()
        await #expect(throws: DeferredError.timedOut) {
            try await never.timeout(.microseconds(1), timer: .clock(.continuous)).value
        }
        let retried = Deferred.retry(delay: .none, timer: .clock(.suspending)) { number in
            number == 3 ? .resolved(number) : .rejected(TestError())
        }
        #expect(try await retried.value == 3)
        _ = never
    }

    /// A clock whose sleep throws.
    private struct Broken: Clock {
        var now: ManualClock.Instant { ManualClock.Instant(offset: .zero) }
        var minimumResolution: Duration { .zero }
        func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
            throw TestError()
        }
    }

    @Test("A1: a clock whose sleep throws abandons what waits for it")
    func brokenClock() async {
        await #expect(throws: DeferredError.abandoned) {
            try await Deferred.after(.seconds(1), timer: .clock(Broken()), value: 1).value
        }
    }
}
