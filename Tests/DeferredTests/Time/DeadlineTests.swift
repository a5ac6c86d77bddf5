import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

@Suite("Deadlines and total time", .watchdog)
struct DeadlineTests {
    let clock = ManualClock()
    let log = SharedLog<String>()

    @Test("timeout(until:): several steps share one time limit")
    func sharedByStep() throws {
        let deadline = Deadline(after: .seconds(10), timer: clock)
        let (first, second) = (Deferred<Int>(), Deferred<Int>())
        let result = first.timeout(until: deadline).then { _ in second.timeout(until: deadline) }
        clock.advance(by: .seconds(7))
        #expect(deadline.remaining == .seconds(3) && !deadline.hasPassed)
        #expect("\(deadline)" == "Deadline in 3.0 seconds")
        first.resolve(1)
        clock.advance(by: .seconds(2))
        try expectNoResult(result)
        clock.advance(by: .seconds(1))
        #expect(try failureResult(of: result) as? DeferredError == .timedOut)
        #expect(try failureResult(of: second) is CancellationError)
        #expect(deadline.hasPassed && deadline.remaining == .zero)
        #expect("\(deadline)" == "Deadline that has passed")
    }

    @Test("timeout(until:) of a deadline that has passed ends what is pending, and leaves what is settled")
    func passed() throws {
        let deadline = Deadline(after: .seconds(1), timer: clock)
        clock.advance(by: .seconds(2))
        let source = Deferred<Int>()
        let pending = source.timeout(until: deadline) { 7 }
        let settled = Deferred.resolved(1).timeout(until: deadline)
        clock.advance()
        #expect(try successResult(of: pending) == 7)
        #expect(try successResult(of: settled) == 1)
        #expect(try failureResult(of: source) is CancellationError)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("retry(within:): no attempt starts after the total time; the last error is the outcome, at once")
    func totalTime() throws {
        let result = Deferred<Int>.retry(
            attempts: 100, within: .seconds(10), delay: .constant(.seconds(4)), timer: clock
        ) { number in
            log.add("\(number) at \(clock.elapsed.components.seconds)")
            throw TestError()
        }
        clock.advance(by: .seconds(8))
        #expect(log.all == ["1 at 0", "2 at 4", "3 at 8"])
        #expect(try failureResult(of: result) is TestError)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("retry(within:): an attempt exactly at the limit is made, and one in progress is not cut off")
    func lastAttempt() throws {
        let last = Deferred<Int>()
        let result = Deferred<Int>.retry(
            attempts: 100, within: .seconds(10), delay: .constant(.seconds(5)), timer: clock
        ) { number in
            if number < 3 { throw TestError() }
            return last
        }
        clock.advance(by: .seconds(60))
        try expectNoResult(result)
        last.resolve(3)
        #expect(try successResult(of: result) == 3)
        let refused = Deferred<Int>.retry(within: .seconds(-1), timer: clock) { .resolved(1) }
        #expect(
            try failureResult(of: refused) as? DeferredError
                == .invalidArgument("retry: the total time must not be negative, is -1.0 seconds"))
    }
}
