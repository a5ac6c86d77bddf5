import Deferred
import DeferredTesting
import TestSupport
import Testing

@Suite("timeout", .watchdog)
struct TimeoutTests {
    let clock = ManualClock()

    @Test("an outcome in time is passed on, and the timer is released")
    func inTime() throws {
        let source = Deferred<Int>()
        let limited = source.timeout(.seconds(1), timer: clock)
        #expect(clock.scheduled == [.seconds(1)])
        source.resolve(1)
        #expect(try successResult(of: limited) == 1)
        #expect(clock.scheduled.isEmpty)

        let failing = Deferred<Int>()
        let failed = failing.timeout(.seconds(1), timer: clock)
        failing.reject(TestError())
        #expect(try failureResult(of: failed) is TestError)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("P1: a Deferred that is settled and paused is in time, however long the pause (N8)")
    func settledAndPaused() throws {
        let source = Deferred<Int>()
        source.pause()
        source.resolve(1)
        let limited = source.timeout(.seconds(1), timer: clock)
        #expect(clock.scheduled.isEmpty)
        clock.advance(by: .seconds(5))
        source.unpause()
        #expect(try successResult(of: limited) == 1)
    }

    @Test("the closure receives what came of the cancel: an error, or a canceller's value")
    func closureWithOutcome() throws {
        let cancelled = Deferred<Int>.never().timeout(.seconds(1), timer: clock) { outcome in
            #expect(throws: CancellationError.self) { try outcome.get() }
            return 7
        }
        let loading = Deferred<Int>(canceller: { $0.resolve(30) })
        let partial = loading.timeout(.seconds(1), timer: clock) { try $0.get() + 1 }
        let failing = Deferred<Int>(canceller: { $0.reject(TestError()) })
        let other = failing.timeout(.seconds(1), timer: clock) { _ in throw DeferredError.timedOut }
        let inTime = Deferred.resolved(5).timeout(.seconds(1), timer: clock) { _ in 0 }
        clock.advance(by: .seconds(1))
        #expect(try successResult(of: cancelled) == 7)
        #expect(try successResult(of: partial) == 31)
        #expect(try failureResult(of: other) as? DeferredError == .timedOut)
        #expect(try successResult(of: inTime) == 5)
    }

    @Test("the closure does not run after a cancel from elsewhere")
    func closureAfterCancel() throws {
        let limited = Deferred<Int>.never().timeout(.seconds(1), timer: clock) { _ in 7 }
        limited.cancel()
        clock.advance(by: .seconds(1))
        #expect(try failureResult(of: limited) is CancellationError)
    }

    /// Where the error of a cancel waits to be passed on.
    enum Waiting: CaseIterable { case onDispatcher, forUnpause, forCanceller }

    @Test(
        "C5: a cancel whose error is on its way when the time is up stays one",
        arguments: Waiting.allCases, 0..<3)
    func cancelledWhileWaiting(waiting: Waiting, root: Int) throws {
        let (queue, clock, runs) = (ManualDispatcher(), clock, SharedLog<String>())
        let source = Deferred<Int>(canceller: { _ in
            if waiting == .forCanceller { clock.advance(by: .seconds(1)) }
        })
        let upstream = waiting == .onDispatcher ? source.map(on: queue) { $0 } : source.map { $0 }
        if waiting == .forUnpause { upstream.pause() }
        let limited = upstream.timeout(.seconds(1), timer: clock) {
            runs.add("expired")
            return 99
        }
        let below = limited.map { $0 }
        [source, limited, below][root].cancel()
        clock.advance(by: .seconds(1))
        queue.run()
        if waiting == .forUnpause { upstream.unpause() }
        if waiting == .forUnpause && root == 0 {
            // It was not cancelled itself, and the pause held the error back: the time limit takes effect (P1).
            #expect(try successResult(of: below) == 99)
            return
        }
        #expect(try failureResult(of: limited) is CancellationError)
        #expect(try failureResult(of: below) is CancellationError)
        #expect(runs.all.isEmpty && clock.scheduled.isEmpty)
    }

    @Test("C5: a cancel that waits for a callback when the time is up stays one")
    func cancelledDuringCallback() throws {
        let (source, clock, handle) = (Deferred<Int>(), clock, SharedLog<Deferred<Int>>())
        let limited = source.map { value in
            handle.all[0].cancel()
            clock.advance(by: .seconds(1))
            return value
        }.timeout(.seconds(1), timer: clock)
        handle.add(limited.map { $0 })
        source.resolve(1)
        #expect(try failureResult(of: limited) is CancellationError)
    }

    @Test("expiry cancels what precedes it, and the outcome is timedOut")
    func expires() throws {
        let log = SharedLog<String>()
        let source = Deferred<Int>(canceller: { _ in log.add("cancelled") })
        let limited = source.map { $0 }.timeout(.seconds(1), timer: clock)
        clock.advance(by: .milliseconds(999))
        try expectNoResult(limited)
        clock.advance(by: .milliseconds(1))
        #expect(log.all == ["cancelled"])
        #expect(try failureResult(of: limited) as? DeferredError == .timedOut)
        #expect(try failureResult(of: source) is CancellationError)
    }

    @Test("what follows it is neither limited nor cancelled")
    func onlyBefore() throws {
        let source = Deferred<Int>()
        let slow = Deferred<Int>()
        let whole = source.timeout(.seconds(1), timer: clock).then { _ in slow }
        source.resolve(1)
        clock.advance(by: .seconds(10))
        try expectNoResult(whole)
        slow.resolve(2)
        #expect(try successResult(of: whole) == 2)
    }

    @Test("C3: expiry does not affect what others consume")
    func sharedUpstream() throws {
        let source = Deferred<Int>()
        let other = source.map { $0 + 1 }
        let limited = source.timeout(.seconds(1), timer: clock)
        clock.advance(by: .seconds(1))
        #expect(try failureResult(of: limited) as? DeferredError == .timedOut)
        source.resolve(1)
        #expect(try successResult(of: other) == 2)
    }

    @Test("a cancel before expiry is a CancellationError, and the timer is released")
    func cancelledBefore() throws {
        let source = Deferred<Int>()
        let limited = source.timeout(.seconds(1), timer: clock)
        limited.cancel()
        #expect(try failureResult(of: limited) is CancellationError)
        #expect(clock.scheduled.isEmpty)

        let upstream = Deferred<Int>()
        let passed = upstream.timeout(.seconds(1), timer: clock).map { $0 }
        upstream.cancel()
        #expect(try failureResult(of: passed) is CancellationError)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("onTimeout returns the outcome, or throws it")
    func onTimeout() throws {
        let (first, second) = (Deferred<Int>(), Deferred<Int>())
        let replaced = first.timeout(.seconds(1), timer: clock) { 8 }
        let thrown = second.timeout(.seconds(1), timer: clock) { throw TestError() }
        clock.advance(by: .seconds(1))
        #expect(try successResult(of: replaced) == 8)
        #expect(try failureResult(of: thrown) is TestError)
    }

    @Test("on a real queue, expiry happens there")
    func onQueue() async {
        let source = Deferred<Int>()
        let limited = source.timeout(.microseconds(1))
        await #expect(throws: DeferredError.timedOut) { try await limited.value }
        _ = source
    }
}
