import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

@Suite("DeferredLatest", .watchdog)
struct DeferredLatestTests {
    let clock = ManualClock()
    let log = SharedLog<String>()

    @Test("a call cancels the one before, and then runs")
    func latestOnly() throws {
        let latest = DeferredLatest()
        let sources = (0..<3).map { number in
            Deferred<Int>(canceller: { _ in log.add("cancels \(number)") })
        }
        let results = sources.enumerated().map { number, source in
            latest.run {
                log.add("runs \(number)")
                return source
            }
        }
        #expect(log.all == ["runs 0", "cancels 0", "runs 1", "cancels 1", "runs 2"])
        sources[2].resolve(2)
        #expect(try successResult(of: results[2]) == 2)
        for result in results.dropLast() { #expect(try failureResult(of: result) is CancellationError) }
    }

    @Test("a call after the last one is settled cancels nothing, and the others forms run too")
    func settled() async throws {
        let latest = DeferredLatest()
        let first = latest.syncRun { 1 }
        let second = latest.run { Deferred<Int>.rejected(TestError()) }
        #expect(
            try await latest.asyncRun {
                await Task.yield(); return 3
            }.value == 3)
        #expect(try successResult(of: first) == 1)
        #expect(try failureResult(of: second) is TestError)
    }

    @Test("debounce: only the last call of a series runs, on the dispatcher, after a pause")
    func debounce() throws {
        let latest = DeferredLatest(debounce: .milliseconds(300), timer: clock)
        let results = (0..<5).map { number in
            clock.advance(by: .milliseconds(200))
            return latest.syncRun {
                log.add("\(number) at \(clock.elapsed)")
                return number
            }
        }
        #expect(clock.scheduled == [.milliseconds(300)])
        clock.advance(by: .milliseconds(299))
        #expect(log.all.isEmpty)
        clock.advance(by: .milliseconds(1))
        #expect(log.all == ["4 at 1.3 seconds"])
        #expect(try successResult(of: results[4]) == 4)
        for result in results.dropLast() { #expect(try failureResult(of: result) is CancellationError) }
        #expect(clock.scheduled.isEmpty)
    }

    @Test("U1: calls that were replaced are not reported, a failure of the latest is")
    func reports() {
        let latest = DeferredLatest()
        let source = Deferred<Int>()
        let seen = diagnostics {
            _ = latest.run { source }
            latest.syncRun { throw TestError() }
        }
        #expect(seen.count == 1)
    }

    @Test("a call from inside the body, or the canceller, of the one before is the latest")
    func reentrant() throws {
        let latest = DeferredLatest()
        let inner = SpinLocked<Deferred<Int>?>(nil)
        let outer = latest.run { () -> Deferred<Int> in
            let deferred = latest.syncRun { 2 }
            inner.withLock { $0 = deferred }
            return Deferred<Int>()
        }
        #expect(try failureResult(of: outer) is CancellationError)
        #expect(try successResult(of: #require(inner.withLock { $0 })) == 2)
    }

    @Test("Q5: releasing the object changes nothing for the latest call")
    func released() throws {
        var latest: DeferredLatest? = DeferredLatest(debounce: .seconds(1), timer: clock)
        weak var watched: DeferredLatest?
        watched = latest
        let result = latest!.syncRun { 7 }
        latest = nil
        #expect(watched == nil)
        clock.advance(by: .seconds(1))
        #expect(try successResult(of: result) == 7)
    }

    @Test("P1, Q5: a paused call counts as unpaused once its handles are released", arguments: [true, false])
    func pausedAndReleased(isReleasedFirst: Bool) {
        let (latest, tracker, source) = (DeferredLatest(), LeakTracker(), Deferred<Int>())
        do {
            let call = latest.run { source }
            call.done { [life = tracker.begin()] _ in life.use() }.finally { _ in log.add("done") }
            call.pause()
            if !isReleasedFirst { source.resolve(1) }
        }
        source.resolve(1)
        #expect(log.all == ["done"])
    }

    @Test("Q6: a call that is replaced while its body runs delivers no value, and reports no error")
    func replacedWhileRunning() throws {
        try expectNoUnhandledFailures {
            let latest = DeferredLatest()
            let shown = SharedLog<String>()
            latest.syncRun {
                latest.syncRun { "new" }.done { shown.add($0) }
                return "old"
            }.done { shown.add($0) }
            _ = latest.syncRun {
                latest.syncRun { "newer" }.done { shown.add($0) }
                throw TestError()
            }
            #expect(shown.all == ["new", "newer"])
        }
    }
}
