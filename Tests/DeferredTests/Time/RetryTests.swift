import DeferredTesting
import Testing

@testable import Deferred

@Suite("retry")
struct RetryTests {
    struct Oops: Error, Equatable { var number = 0 }
    struct Fatal: Error {}
    let clock = ManualClock()
    let log = EventLog()

    @Test("a first attempt that succeeds is the outcome, at once")
    func firstSucceeds() throws {
        let result = Deferred.retry(on: clock) { Deferred.resolved(1) }
        #expect(try successResult(of: result) == 1)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("failed attempts are made again after the delay, numbered from 1, on the dispatcher")
    func retries() throws {
        let result = Deferred.retry(attempts: 3, delay: .constant(.seconds(2)), on: clock) { number in
            log.add("\(number) at \(clock.now.offset)")
            if number < 3 { throw Oops() }
            return .resolved(number)
        }
        clock.advance(by: .seconds(1))
        #expect(log.all == ["1 at 0.0 seconds"])
        clock.advance(by: .seconds(3))
        #expect(log.all == ["1 at 0.0 seconds", "2 at 2.0 seconds", "3 at 4.0 seconds"])
        #expect(try successResult(of: result) == 3)
    }

    @Test("when attempts run out, each attempt's error is kept, in order")
    func keepsErrors() throws {
        let result = Deferred<Int>.retry(attempts: 3, delay: .none, on: clock) { number in
            .rejected(Oops(number: number))
        }
        clock.advance(by: .zero)
        let error = try failureResult(of: result, as: RetryError.self)
        #expect(error.errors as? [Oops] == [Oops(number: 1), Oops(number: 2), Oops(number: 3)])
        #expect(error.last as? Oops == Oops(number: 3))
    }

    @Test("a RetryError reads well: once, several, and alike ones put together")
    func errorDescription() {
        func described(_ numbers: Int...) -> String {
            "\(RetryError(numbers.map { Oops(number: $0) }))"
        }
        #expect(described(1) == "failed once: Oops(number: 1)")
        #expect(described(1, 2) == "failed 2 times: Oops(number: 1), then Oops(number: 2)")
        #expect(described(1, 1, 2) == "failed 3 times: Oops(number: 1) (2 times), then Oops(number: 2)")
    }

    @Test("an error that is not worth it ends the attempts")
    func whichErrors() throws {
        let result = Deferred<Int>.retry(attempts: 5, delay: .none, on: clock, when: { $0 is Oops }) {
            throw $0 == 2 ? Fatal() : Oops() as any Error
        }
        clock.advance()
        let error = try failureResult(of: result, as: RetryError.self)
        #expect(error.errors.count == 2)
        #expect(error.last is Fatal)
    }

    @Test("a CancellationError that nobody here asked for is not tried again, and comes as it is")
    func foreignCancellation() throws {
        let result = Deferred<Int>.retry(on: clock) {
            log.add("attempt")
            throw CancellationError()
        }
        #expect(try failureResult(of: result) is CancellationError)
        #expect(log.all == ["attempt"])
    }

    @Test("C4: a cancel during an attempt cancels it, and no other is made")
    func cancelAttempt() throws {
        let attempt = Deferred<Int>()
        let result = Deferred.retry(on: clock) { attempt }
        result.cancel()
        #expect(try failureResult(of: attempt) is CancellationError)
        #expect(try failureResult(of: result) is CancellationError)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("C4: a cancelled attempt that answers with another error is not made again")
    func cancelAnsweredWithError() throws {
        let attempt = Deferred<Int>(canceller: { $0.reject(Oops()) })
        let result = Deferred.retry(on: clock) { attempt }
        result.cancel()
        #expect(try failureResult(of: result) is Oops)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("C3: a cancel leaves an attempt that others consume alone, and still ends the attempts")
    func cancelSharedAttempt() throws {
        let attempt = Deferred<Int>()
        let other = attempt.then { $0 }
        let result = Deferred.retry(on: clock) { attempt }
        result.cancel()
        #expect(try failureResult(of: result) is CancellationError)
        attempt.resolve(1)
        #expect(try successResult(of: other) == 1)
    }

    @Test("a cancel during the delay stops the timer, and no further attempt is made")
    func cancelDelay() throws {
        let result = Deferred<Int>.retry(delay: .constant(.seconds(1)), on: clock) {
            log.add("attempt")
            throw Oops()
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
        let holder = Guarded<Deferred<Int>?>(nil)
        let result = Deferred<Int>.retry(attempts: 5, delay: .constant(.seconds(1)), on: clock) { number in
            log.add("\(number)")
            if number == 2 { holder.withLock { $0 }?.cancel() }
            throw Oops()
        }
        holder.withLock { $0 = result }
        try expectNoUnhandledFailures { clock.advance(by: .seconds(10)) }
        #expect(log.all == ["1", "2"])
        #expect(clock.scheduled.isEmpty)
        #expect(try failureResult(of: result) is Oops)
    }

    @Test("exponential delays double up to the maximum; custom ones see attempt and error")
    func delays() throws {
        let result = Deferred<Int>.retry(
            attempts: 6, delay: .exponential(first: .seconds(1), maximum: .seconds(6), jitter: 0), on: clock
        ) {
            log.add("\(clock.now.offset)")
            throw Oops()
        }
        clock.advance(by: .seconds(100))
        #expect(log.all == [0, 1, 3, 7, 13, 19].map { "\(Double($0)) seconds" })
        _ = try failureResult(of: result)

        let custom = Deferred<Int>.retry(
            attempts: 3, delay: .custom { attempt, error in error is Oops ? .seconds(10 * attempt) : .zero },
            on: clock
        ) { throw Oops() }
        #expect(clock.scheduled == [.seconds(10)])
        clock.advance(by: .seconds(10))
        #expect(clock.scheduled == [.seconds(20)])
        custom.cancel()
        _ = try failureResult(of: custom)
    }

    @Test("jitter shortens a delay by its share of chance, and a million attempts don't overflow")
    func jitter() {
        let delay = RetryDelay.exponential(first: .seconds(4), jitter: 0.5, random: { 0.5 })
        #expect(delay.next(1, Oops()) == .seconds(3))
        #expect(delay.next(2, Oops()) == .seconds(6))
        #expect(delay.next(1_000_000, Oops()) == .seconds(45))
        let wild = RetryDelay.exponential(maximum: .seconds(Int64.max), jitter: 1, random: { 2 })
        #expect(wild.next(Int.max, Oops()) == .zero)
        let seeded = RetryDelay.exponential(first: .seconds(1), jitter: 1)
        for attempt in 1...100 {
            let next = seeded.next(attempt, Oops())
            #expect(next >= .zero && next <= .seconds(60))
        }
    }

    @Test("delays too long for a Duration are as long as can be, and what chance gives is from 0 to 1")
    func clamped() {
        #expect(RetryDelay.seconds(1e300).next(1, Oops()) > .seconds(Int64.max / 2))
        let longest = RetryDelay.exponential(
            first: .seconds(Int64.max), factor: 1e300, maximum: .seconds(Int64.max), jitter: 0)
        #expect(longest.next(3, Oops()) > .seconds(Int64.max / 2))
        let none = RetryDelay.exponential(first: .zero, factor: 1e300, jitter: 0)
        #expect(none.next(1000, Oops()) == .zero)
        for (drawn, seconds) in [(Double.nan, 4), (-.infinity, 4), (.infinity, 2)] {
            let delay = RetryDelay.exponential(first: .seconds(4), jitter: 0.5, random: { drawn })
            #expect(delay.next(1, Oops()) == .seconds(seconds))
        }
    }

    @Test("an asynchronous body is tried again, each attempt in a Task of its own, and told its number")
    func asynchronous() async throws {
        let numbered = Deferred.retry(delay: .none) { number in
            await Task.yield()
            if number < 3 { throw Oops(number: number) }
            return number
        }
        #expect(try await numbered.value == 3)
        let failing = Deferred<Int>.retry(attempts: 2, delay: .none) {
            try await Task.sleep(for: .zero)
            throw Oops()
        }
        let error = await #expect(throws: RetryError.self) { try await failing.value }
        #expect(error?.errors.count == 2)
    }

    @Test("C4: a cancel cancels the Task of the attempt under way, and no other is made")
    func asynchronousCancel() async throws {
        let result = Deferred.retry(delay: .none, on: clock) { [clock, log] in
            log.add("attempt")
            try await clock.sleep(for: .seconds(1))
        }
        try await clock.whenScheduled().value
        result.cancel()
        #expect(try failureResult(of: result) is CancellationError)
        #expect(clock.scheduled.isEmpty)
        clock.advance(by: .seconds(1))
        #expect(log.all == ["attempt"])
    }

    @Test("numbers that can't be meant are refused, by name, before any attempt")
    func invalidArguments() throws {
        func refusal(attempts: Int = 3, _ delay: RetryDelay = .none) throws -> DeferredError {
            let result = Deferred<Int>.retry(attempts: attempts, delay: delay, on: clock) {
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
        #expect(
            try refusal(.seconds(.nan)) == .invalidArgument("retry: delay must be a number, is nan"))
        #expect(
            try refusal(.milliseconds(-.infinity))
                == .invalidArgument("retry: delay must be a number, is -inf"))
        _ = try refusal(.seconds(-1e300))
        _ = try refusal(.constant(.seconds(-1)))
        _ = try refusal(.exponential(first: .seconds(-1)))
        #expect(log.all.isEmpty)
    }

    @Test("U1: the failures of attempts are handled by the retry, whatever comes of it")
    func nothingUnhandled() throws {
        try expectNoUnhandledFailures {
            let result = Deferred<Int>.retry(delay: .none, on: clock) { number in
                number == 3 ? .resolved(1) : .rejected(Oops())
            }
            clock.advance()
            try successResult(of: result)
        }
    }

    @Test("F6: thousands of attempts that fail at once, each from the timer of the one before, take no stack")
    func manyAttempts() throws {
        let result = Deferred.retry(attempts: 20_000, delay: .none, on: clock) { number in
            if number < 20_000 { throw Oops() }
            return .resolved(number)
        }
        clock.advance()
        #expect(try successResult(of: result) == 20_000)
    }

    @Test("A2: nothing is held once it is over: succeeded, failed, cancelled or abandoned")
    func lifetime() {
        // The last: an attempt that is abandoned, and then another.
        for ending in 0..<5 {
            weak var watched: EventLog?
            do {
                let object = EventLog()
                watched = object
                let source = Deferred<Int>()
                let result = Deferred.retry(attempts: 2, delay: .constant(.seconds(1)), on: clock) {
                    _ = object
                    return ending == 4 ? Deferred() : source
                }
                switch ending {
                case 0: source.resolve(1)
                case 1:
                    source.reject(Oops())
                    clock.advance(by: .seconds(1))
                case 2: result.cancel()
                case 3:
                    source.reject(Oops())
                    result.cancel()
                default: break
                }
                result.fail { _ in }
            }
            clock.advance(by: .seconds(1))
            #expect(watched == nil, "ending \(ending)")
            #expect(clock.scheduled.isEmpty)
        }
    }
}
