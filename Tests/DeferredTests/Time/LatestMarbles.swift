import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

/// `DeferredLatest` as two lines of marbles: the calls, and the bodies that run. Each place is 50 ms. A letter is a call,
/// and the body of that call; `!` flushes, and `x` cancels. The pause is 150 ms, and the longest wait 250 ms.
@Suite("DeferredLatest: marbles", .watchdog)
struct LatestMarbles {
    let clock = ManualClock()

    func latest(_ maximumWait: Duration? = nil, leadingEdge: Bool = false) -> DeferredLatest {
        DeferredLatest(
            debounce: .milliseconds(150), maximumWait: maximumWait, leadingEdge: leadingEdge, timer: clock)
    }

    /// Makes the calls, and returns the bodies that run, on a line of the same length.
    func runs(of calls: String, _ latest: DeferredLatest) -> String {
        let places = SharedLog<(Int, Character)>()
        for (place, mark) in calls.enumerated() {
            if place > 0 { clock.advance(by: .milliseconds(50)) }
            switch mark {
            case "-": break
            case "!": latest.flush()
            case "x": latest.cancel()
            default:
                latest.syncRun { [clock] in
                    places.add((Int(clock.elapsed / .milliseconds(50)), mark))
                }
            }
        }
        var line = Array(repeating: Character("-"), count: calls.count)
        for (place, mark) in places.all { line[place] = mark }
        return String(line)
    }

    @Test(
        "debounce: the last of a series runs after the pause",
        arguments: [
            ("a-bc------", "------c---"), ("a---b----", "---a---b-"), ("abcdefgh---", "----------h"),
        ])
    func debounce(calls: String, bodies: String) {
        #expect(runs(of: calls, latest()) == bodies)
        #expect(clock.scheduled.isEmpty)
    }

    @Test(
        "maximumWait: calls without a pause between them run that long after the first that waits",
        arguments: [
            ("abcdefghijkl----", "-----e----j---l-"),
            ("a-------bcdefg---------", "---a---------f--g------"),
            ("abc-------", "-----c----"),
        ])
    func maximumWait(calls: String, bodies: String) {
        #expect(runs(of: calls, latest(.milliseconds(250))) == bodies)
        #expect(clock.scheduled.isEmpty)
    }

    @Test(
        "leadingEdge: the first of a series runs at once; a single call runs once",
        arguments: [
            ("a--------", "a--------"), ("abc------", "a----c---"), ("a----b---", "a----b---"),
            ("a--b-----", "a--b-----"), ("ab------c----", "a---b---c----"),
        ])
    func leadingEdge(calls: String, bodies: String) {
        #expect(runs(of: calls, latest(leadingEdge: true)) == bodies)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("leadingEdge with maximumWait: the first at once, and then at least every so often")
    func both() {
        let latest = latest(.milliseconds(250), leadingEdge: true)
        #expect(runs(of: "abcdefghijkl-----", latest) == "a-----f----k--l--")
    }

    @Test(
        "flush runs at once what waits, and does nothing where nothing does",
        arguments: [
            ("ab!------", "--b------", false), ("!a-------", "----a----", false),
            ("a---!----", "---a-----", false), ("ab!!-----", "--b------", false),
            ("ab!c-----", "a-b---c--", true), ("a!-------", "a--------", true),
        ])
    func flush(calls: String, bodies: String, leadingEdge: Bool) {
        #expect(runs(of: calls, latest(leadingEdge: leadingEdge)) == bodies)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("flush begins the longest wait anew with the next call")
    func flushWithMaximumWait() {
        #expect(runs(of: "ab!cdefghij-----", latest(.milliseconds(250))) == "--b-----g----j--")
    }

    @Test(
        "cancel ends the series: nothing that waits runs, and the next call is a first one",
        arguments: [("abx------", "---------", false), ("axb------", "a-b------", true)])
    func cancel(calls: String, bodies: String, leadingEdge: Bool) {
        #expect(runs(of: calls, latest(leadingEdge: leadingEdge)) == bodies)
        #expect(clock.scheduled.isEmpty)
    }
}

@Suite("DeferredLatest: longest wait, leading edge and flush", .watchdog)
struct LatestWaits {
    let clock = ManualClock()
    let log = SharedLog<String>()

    @Test("maximumWait: calls every 50 ms with a pause of 100 ms run, at least every 500 ms")
    func neverSilent() {
        let latest = DeferredLatest(
            debounce: .milliseconds(100), maximumWait: .milliseconds(500), timer: clock)
        let times = SharedLog<Duration>()
        for _ in 0..<100 {
            latest.syncRun { [clock] in times.add(clock.elapsed) }
            clock.advance(by: .milliseconds(50))
        }
        #expect(times.all == (1...10).map { .milliseconds($0 * 500) })
    }

    @Test(
        "Q6: with maximumWait, a body that runs is replaced by the next that begins, not by a call that waits"
    )
    func running() throws {
        let latest = DeferredLatest(debounce: .seconds(1), maximumWait: .seconds(3), timer: clock)
        let sources = (0..<3).map { number in Deferred<Int>(canceller: { _ in log.add("cancels \(number)") })
        }
        let first = latest.run { sources[0] }
        clock.advance(by: .seconds(1))
        let second = latest.run { sources[1] }
        #expect(log.all.isEmpty)
        sources[0].resolve(0)
        #expect(try successResult(of: first) == 0)
        clock.advance(by: .seconds(1))
        let third = latest.run { sources[2] }
        try expectNoResult(second)
        clock.advance(by: .seconds(1))
        #expect(log.all == ["cancels 1"])
        #expect(try failureResult(of: second) is CancellationError)
        latest.cancel()
        #expect(try failureResult(of: third) is CancellationError)
        #expect(clock.scheduled.isEmpty)
        withExtendedLifetime(sources) {}
    }

    @Test("Q6: the first of a series is replaced by the next call, as without a leading edge")
    func leadingReplaced() throws {
        let latest = DeferredLatest(debounce: .seconds(1), leadingEdge: true, timer: clock)
        let first = latest.run { Deferred<Int>.never() }
        let second = latest.syncRun { 2 }
        #expect(try failureResult(of: first) is CancellationError)
        clock.advance(by: .seconds(1))
        #expect(try successResult(of: second) == 2)
    }

    @Test("cancel cancels the call that waits and the one that runs")
    func cancelsBoth() throws {
        let latest = DeferredLatest(debounce: .seconds(1), maximumWait: .seconds(3), timer: clock)
        let running = latest.run { Deferred<Int>.never() }
        latest.flush()
        let waiting = latest.syncRun { log.add("never") }
        latest.cancel()
        #expect(try failureResult(of: running) is CancellationError)
        #expect(try failureResult(of: waiting) is CancellationError)
        clock.advance(by: .seconds(9))
        #expect(log.all.isEmpty && clock.scheduled.isEmpty)
        latest.flush()
    }

    @Test("C3: a call that waits and is cancelled leaves nothing to flush, and no timer")
    func cancelledCall() throws {
        let latest = DeferredLatest(debounce: .seconds(1), maximumWait: .seconds(3), timer: clock)
        let call = latest.syncRun { log.add("never") }
        call.cancel()
        latest.flush()
        #expect(try failureResult(of: call) is CancellationError)
        #expect(log.all.isEmpty && clock.scheduled.isEmpty)
    }

    @Test("flush runs the body on this thread before it returns, and the value is delivered")
    func flushes() throws {
        let latest = DeferredLatest(debounce: .seconds(1), timer: clock)
        let call = latest.syncRun { 7 }
        latest.flush()
        #expect(try successResult(of: call) == 7 && clock.scheduled.isEmpty)
    }

    @Test("a call from inside of a body that is flushed waits, and is the latest")
    func reentrant() throws {
        let latest = DeferredLatest(debounce: .seconds(1), timer: clock)
        let inner = SpinLocked<Deferred<Int>?>(nil)
        let outer = latest.syncRun { () -> Int in
            let deferred = latest.syncRun { 2 }
            inner.withLock { $0 = deferred }
            return 1
        }
        latest.flush()
        #expect(try failureResult(of: outer) is CancellationError)
        latest.flush()
        #expect(try successResult(of: #require(inner.withLock { $0 })) == 2)
    }

    @Test("a longest wait, or a pause, of zero or less: every body runs at once", arguments: [0, -5, 3])
    func zero(seconds: Int) throws {
        let pause: Duration = seconds == 3 ? .zero : .seconds(1)
        let latest = DeferredLatest(
            debounce: pause, maximumWait: .seconds(seconds), leadingEdge: true, timer: clock)
        #expect(try successResult(of: latest.syncRun { 1 }) == 1)
        #expect(try successResult(of: latest.syncRun { 2 }) == 2)
        #expect(clock.scheduled.isEmpty)
    }

    @Test("Q5, A1: a call whose timer is released fails with .abandoned, though its object is there")
    func abandoned() throws {
        var timer: ManualClock? = ManualClock()
        let latest = DeferredLatest(
            debounce: .seconds(1), maximumWait: .seconds(3), leadingEdge: true, timer: try #require(timer))
        let first = latest.syncRun { 1 }
        let second = latest.syncRun { 2 }
        timer = nil
        #expect(try successResult(of: first) == 1)
        try expectNoResult(second)
        latest.flush()
        #expect(try successResult(of: second) == 2)
    }

    @Test(
        "Q5: releasing the object changes nothing for the call that waits, with a longest wait and a series")
    func released() throws {
        var latest: DeferredLatest? = DeferredLatest(
            debounce: .seconds(2), maximumWait: .seconds(1), leadingEdge: true, timer: clock)
        let calls = (0..<3).map { number in latest!.syncRun { number } }
        weak var watched: DeferredLatest?
        watched = latest
        latest = nil
        #expect(watched == nil)
        clock.advance(by: .seconds(9))
        #expect(try successResult(of: calls[0]) == 0 && successResult(of: calls[2]) == 2)
        #expect(clock.scheduled.isEmpty)
    }

    @Test(
        "T1: calls, flushes, cancels and timers on many threads: the last call runs once, and nothing is left"
    )
    func threads() {
        for _ in 0..<100 {
            let (clock, runs) = (ManualClock(), SpinLocked<[Int: Int]>([:]))
            let latest = DeferredLatest(
                debounce: .seconds(1), maximumWait: .seconds(2), leadingEdge: true, timer: clock)
            Rules.onThreads(4) { thread in
                for number in 0..<25 {
                    switch (number + thread) % 5 {
                    case 0: latest.flush()
                    case 1: clock.advance(by: .milliseconds(700))
                    default:
                        let call = thread * 100 + number
                        let made = latest.syncRun { runs.withLock { $0[call, default: 0] += 1 } }
                        if number % 7 == 0 { made.cancel() }
                    }
                }
            }
            let last = latest.syncRun { runs.withLock { $0[-1, default: 0] += 1 } }
            clock.advance(by: .seconds(9))
            #expect(last.isSettled && clock.scheduled.isEmpty)
            let all = runs.withLock { $0 }
            #expect(all[-1] == 1 && all.values.allSatisfy { $0 == 1 })
        }
    }
}
