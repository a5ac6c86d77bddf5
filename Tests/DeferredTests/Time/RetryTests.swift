import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

@Suite("retry", .watchdog)
struct RetryTests {
    struct Fatal: Error {}
    let clock = ManualClock()
    let log = SharedLog<String>()

    @Test("failed attempts are made again after the delay, numbered from 1, on the dispatcher")
    func retries() throws {
        let result = Deferred.retry(attempts: 3, delay: .constant(.seconds(2)), timer: clock) { number in
            log.add("\(number) at \(clock.now.offset)")
            if number < 3 { throw TestError() }
            return .resolved(number)
        }
        clock.advance(by: .seconds(1))
        #expect(log.all == ["1 at 0.0 seconds"])
        clock.advance(by: .seconds(3))
        #expect(log.all == ["1 at 0.0 seconds", "2 at 2.0 seconds", "3 at 4.0 seconds"])
        #expect(try successResult(of: result) == 3)
    }

    @Test("when attempts run out, it fails with the last attempt's error, unchanged")
    func spent() throws {
        let result = Deferred<Int>.retry(attempts: 3, delay: .none, timer: clock) { number in
            .rejected(TestError(number: number))
        }
        clock.advance(by: .zero)
        #expect(try failureResult(of: result) as? TestError == TestError(number: 3))
    }

    @Test("an error that is not worth retrying ends the attempts")
    func whichErrors() throws {
        let result = Deferred<Int>.retry(attempts: 5, delay: .none, timer: clock, when: { $0 is TestError }) {
            throw $0 == 2 ? Fatal() : TestError() as any Error
        }
        clock.advance()
        #expect(try failureResult(of: result) is Fatal)
    }

    @Test("after a CancellationError from elsewhere no attempt is made, and it is passed on unchanged")
    func foreignCancellation() throws {
        let result = Deferred<Int>.retry(timer: clock) {
            log.add("attempt")
            throw CancellationError()
        }
        #expect(try failureResult(of: result) is CancellationError)
        #expect(log.all == ["attempt"])
    }

    @Test("C4: a cancel during an attempt cancels it, and no other is made")
    func cancelAttempt() throws {
        let attempt = Deferred<Int>()
        let result = Deferred.retry(timer: clock) { attempt }
        result.cancel()
        #expect(try failureResult(of: attempt) is CancellationError)
        #expect(try failureResult(of: result) is CancellationError)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("C4: after a cancelled attempt that fails with another error, no attempt is made")
    func cancelAnsweredWithError() throws {
        let attempt = Deferred<Int>(canceller: { $0.reject(TestError()) })
        let result = Deferred.retry(timer: clock) { attempt }
        result.cancel()
        #expect(try failureResult(of: result) is TestError)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("C3: a cancel leaves an attempt that others consume alone, and still ends the attempts")
    func cancelSharedAttempt() throws {
        let attempt = Deferred<Int>()
        let other = attempt.map { $0 }
        let result = Deferred.retry(timer: clock) { attempt }
        result.cancel()
        #expect(try failureResult(of: result) is CancellationError)
        attempt.resolve(1)
        #expect(try successResult(of: other) == 1)
    }

    @Test("a cancel during the delay stops the timer, and no further attempt is made")
    func cancelDelay() throws {
        let result = Deferred<Int>.retry(delay: .constant(.seconds(1)), timer: clock) {
            log.add("attempt")
            throw TestError()
        }
        #expect(clock.scheduled.count == 1)
        result.cancel()
        #expect(clock.scheduled.isEmpty)
        #expect(try failureResult(of: result) is CancellationError)
        clock.advance(by: .seconds(10))
        #expect(log.all == ["attempt"])
    }

    @Test("a cancel from inside the body of a later attempt ends the attempts")
    func cancelInBody() throws {
        let holder = SpinLocked<Deferred<Int>?>(nil)
        let result = Deferred<Int>.retry(attempts: 5, delay: .constant(.seconds(1)), timer: clock) { number in
            log.add("\(number)")
            if number == 2 { holder.withLock { $0 }?.cancel() }
            throw TestError()
        }
        holder.withLock { $0 = result }
        try expectNoUnhandledFailures { clock.advance(by: .seconds(10)) }
        #expect(log.all == ["1", "2"])
        #expect(clock.scheduled.isEmpty)
        #expect(try failureResult(of: result) is TestError)
    }

    @Test("exponential delays double up to the maximum; custom ones receive attempt and error")
    func delays() throws {
        let result = Deferred<Int>.retry(
            attempts: 6, delay: .exponential(first: .seconds(1), maximum: .seconds(6), jitter: 0),
            timer: clock
        ) {
            log.add("\(clock.now.offset)")
            throw TestError()
        }
        clock.advance(by: .seconds(100))
        #expect(log.all == [0, 1, 3, 7, 13, 19].map { "\(Double($0)) seconds" })
        _ = try failureResult(of: result)

        let custom = Deferred<Int>.retry(
            attempts: 3,
            delay: .custom { attempt, error in error is TestError ? .seconds(10 * attempt) : .zero },
            timer: clock
        ) { throw TestError() }
        #expect(clock.scheduled == [.seconds(10)])
        clock.advance(by: .seconds(10))
        #expect(clock.scheduled == [.seconds(20)])
        custom.cancel()
        _ = try failureResult(of: custom)
    }

    /// A delay, the number of an attempt that fails, and the length after it.
    static let lengths: [(RetryDelay, attempt: Int, Duration)] = [
        (.exponential(first: .seconds(4), jitter: 0.5, random: { 0.5 }), 1, .seconds(3)),
        (.exponential(first: .seconds(4), jitter: 0.5, random: { 0.5 }), 2, .seconds(6)),
        (.exponential(first: .seconds(4), jitter: 0.5, random: { 0.5 }), 1_000_000, .seconds(45)),
        (.exponential(first: .seconds(4), jitter: 0.5, random: { .nan }), 1, .seconds(4)),
        (.exponential(first: .seconds(4), jitter: 0.5, random: { -.infinity }), 1, .seconds(4)),
        (.exponential(first: .seconds(4), jitter: 0.5, random: { .infinity }), 1, .seconds(2)),
        (.exponential(maximum: .seconds(Int64.max), jitter: 1, random: { 2 }), .max, .zero),
        (.exponential(first: .zero, factor: 1e300, jitter: 0), 1000, .zero),
        (.exponential(jitter: 0), .min, .seconds(1)),
        (.custom { attempt, _ in .seconds(-attempt) }, 1, .zero),
    ]

    @Test("a delay can be asked for its length; jitter shortens it; numbers too large are clamped")
    func lengths() {
        for (delay, attempt, length) in Self.lengths {
            #expect(delay.delay(afterAttempt: attempt, TestError()) == length)
        }
        let longest = RetryDelay.exponential(
            first: .seconds(Int64.max), factor: 1e300, maximum: .seconds(Int64.max), jitter: 0)
        #expect(longest.delay(afterAttempt: 3, TestError()) > .seconds(Int64.max / 2))
        let random = RetryDelay.exponential(first: .seconds(1), jitter: 1)
        for attempt in 1...100 {
            #expect((.zero ... .seconds(60)).contains(random.delay(afterAttempt: attempt, TestError())))
        }
    }

    @Test("an asynchronous body runs again, each attempt in a Task of its own, with its number")
    func asynchronous() async throws {
        let numbered = Deferred.asyncRetry(delay: .none) { number in
            await Task.yield()
            if number < 3 { throw TestError(number: number) }
            return number
        }
        #expect(try await numbered.value == 3)
        let failing = Deferred<Int>.asyncRetry(attempts: 2, delay: .none) {
            try await Task.sleep(for: .zero)
            throw TestError()
        }
        await #expect(throws: TestError.self) { try await failing.value }
    }

    @Test("C4: a cancel cancels the Task of the attempt in progress, and no other is made")
    func asynchronousCancel() async throws {
        let ended = Deferred<Void>()
        let result = Deferred.asyncRetry(delay: .none, timer: clock) { [clock, log] in
            log.add("attempt")
            defer { ended.resolve() }
            try await clock.sleep(for: .seconds(1))
        }
        try await clock.whenScheduled().value
        result.cancel()
        #expect(try failureResult(of: result) is CancellationError)
        // The Task ends on a thread of its own.
        try await ended.value
        #expect(clock.scheduled.isEmpty)
        clock.advance(by: .seconds(1))
        #expect(log.all == ["attempt"])
    }

    @Test("invalid numbers are refused, by name, before any attempt")
    func invalidArguments() throws {
        func refusal(attempts: Int = 3, _ delay: RetryDelay = .none) throws -> DeferredError {
            let result = Deferred<Int>.retry(attempts: attempts, delay: delay, timer: clock) {
                log.add("attempt")
                return .resolved(1)
            }
            return try failureResult(of: result, as: DeferredError.self)
        }
        #expect(try refusal(attempts: 0) == .invalidArgument("retry: attempts must be 1 or more, is 0"))
        #expect(
            try refusal(.exponential(jitter: 2))
                == .invalidArgument("retry: jitter must be from 0 to 1, is 2.0"))
        #expect(
            try refusal(.exponential(factor: .nan))
                == .invalidArgument("retry: factor must be a number from 1 up, is nan"))
        _ = try refusal(.constant(.seconds(-1)))
        _ = try refusal(.exponential(first: .seconds(-1)))
        #expect(log.all.isEmpty)
    }

    @Test("L6: however many attempts fail at once, the chain that waits for the next stays as short")
    func constantMemory() throws {
        let failing = Deferred<Int>.retry(attempts: .max, delay: .constant(.seconds(1)), timer: clock) {
            .rejected(TestError())
        }
        func length() -> Int { failing.debugDescription.split(separator: "\n").count }
        clock.advance(by: .seconds(3))
        let short = length()
        clock.advance(by: .seconds(300))
        #expect(length() == short)
        failing.cancel()
        #expect(try failureResult(of: failing) is CancellationError)
    }

    @Test("L6: so it stays where each attempt fails between its return and its linking")
    func failsBeforeItIsLinked() throws {
        let attempt = Rules.Box(Deferred<Int>())
        let failing = Deferred<Int>.retry(attempts: .max, delay: .none, timer: clock) { attempt.value }
        func length() -> Int { failing.debugDescription.split(separator: "\n").count }
        func fail() {
            attempt.value.reject(TestError())
            // The attempt is made, and linked, in a callback of what it returns: it is settled, and not idle.
            let next = Deferred<Int>()
            next.fail { [clock] _ in clock.advance() }
            attempt.value = next
            next.reject(TestError())
            attempt.value = Deferred<Int>()
            clock.advance()
        }
        for _ in 0..<3 { fail() }
        let short = length()
        for _ in 0..<300 { fail() }
        #expect(length() == short)
        failing.cancel()
        #expect(try failureResult(of: failing) is CancellationError)
    }
}
