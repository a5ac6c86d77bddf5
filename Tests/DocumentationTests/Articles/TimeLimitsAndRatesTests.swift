import Deferred
import DeferredTesting
import Multicast
import TestSupport
import Testing

private final class World: Sendable {
    let seconds = SynchronizedValue(0)
    func advance(by count: Int) { seconds.write { $0 += count } }
}

private final class Connection: Sendable {
    private let handler = SynchronizedValue<(@Sendable () -> Void)?>(nil)
    let eventLog = SharedLog<String>()
    var onData: (@Sendable () -> Void)? {
        get { handler.read { $0 } }
        set { handler.write { $0 = newValue } }
    }
    func ping() { eventLog.add("ping") }
    func close() { eventLog.add("closed") }
}

@Suite struct TimeLimitsAndRatesTests: Article {
    let clock = ManualClock()
    let eventLog = SharedLog<String>()

    private func fetchPage(of name: String) -> Deferred<String> {
        eventLog.add("fetches \(name)")
        return Deferred.after(.seconds(8), on: clock, value: "page of \(name)")
    }

    @Test("Time limits: a deadline for several steps")
    func deadlines() throws {
        func logIn() -> Deferred<String> { Deferred.after(.seconds(4), on: clock, value: "ann") }
        let deadline = Deadline(after: .seconds(10), on: clock)
        let page = logIn().timeout(until: deadline)
            .then { name in fetchPage(of: name).timeout(until: deadline) }
        clock.advance(by: .seconds(10))
        #expect(try failureResult(of: page) as? DeferredError == .timedOut)
    }

    @Test("Time limits: a spinner that only a slow load shows")
    func spinner() {
        @Sendable func showSpinner() { eventLog.add("spinner") }
        func load() {
            let page = fetchPage(of: "ann")
            let spinner = Deferred.after(.milliseconds(250), on: clock).done { showSpinner() }
            page.finally { _ in spinner.cancel() }
            page.cancel()
        }
        load()
        clock.advanceUntilIdle()
        #expect(eventLog.all == ["fetches ann"])
    }

    @Test("Time limits: the delays of a retry")
    func delays() throws {
        let eventLog = eventLog
        @Sendable func fetchPage(of name: String) -> Deferred<String> {
            eventLog.add("\(clock.now.offset)")
            return .rejected(Refused())
        }
        let page = Deferred.retry(attempts: 3, delay: .constant(.seconds(1)), on: clock) {
            fetchPage(of: "ann")
        }
        #expect(clock.advanceUntilIdle())
        #expect(try failureResult(of: page) is Refused)
        #expect(eventLog.all == [Duration.zero, .seconds(1), .seconds(2)].map { "\($0)" })
    }

    @Test("Time limits: the delays of a retry that names none")
    func defaultDelays() throws {
        let clock = clock
        let page = Deferred<String>.retry(attempts: 3, on: clock) { throw Refused() }
        clock.advance(by: .milliseconds(499))
        #expect(clock.scheduled.count == 1)
        #expect(clock.advanceUntilIdle())
        #expect((.milliseconds(1500) ... .seconds(3)).contains(clock.now.offset))
        #expect(try failureResult(of: page) is Refused)
    }

    @Test("Time limits: retry for a while")
    func retryForAWhile() throws {
        let page = Deferred.retry(attempts: 1000, within: .seconds(60), on: clock) {
            fetchPage(of: "ann").timeout(.seconds(5), on: clock)
        }
        #expect(clock.advanceUntilIdle())
        #expect(try failureResult(of: page) as? DeferredError == .timedOut)
        #expect(clock.now.offset <= .seconds(65))
    }

    @Test("Time limits: work at intervals")
    func intervals() {
        let (world, connection) = (World(), Connection())
        let game = Deferred.repeating(
            every: .seconds(1), on: clock, withCount: { seconds in world.advance(by: seconds) })
        let keepAlive = RepeatingWork(every: .seconds(30), on: clock, startsNow: false) { connection.ping() }
        connection.onData = { keepAlive.reset() }  // no ping while data arrives
        clock.advance(by: .seconds(20))
        connection.onData?()
        clock.advance(by: .seconds(29))
        #expect(connection.eventLog.all.isEmpty)
        clock.advance(by: .seconds(1))
        #expect(connection.eventLog.all == ["ping"])
        #expect(world.seconds.read { $0 } == 51)
        game.cancel()
        let ended = keepAlive.stop()
        #expect(ended.hasFired && clock.scheduled.isEmpty)
        connection.onData = nil
    }

    @Test("Time limits: an idle timer")
    func idleTimer() {
        let connection = Connection()
        let idle = IdleTimer(after: .seconds(60), on: clock)
        connection.onData = { idle.postpone() }
        idle.deferred.done { connection.close() }
        clock.advance(by: .seconds(59))
        connection.onData?()
        clock.advance(by: .seconds(59))
        #expect(connection.eventLog.all.isEmpty)
        clock.advance(by: .seconds(1))
        #expect(connection.eventLog.all == ["closed"])
        connection.onData = nil
    }

    @Test("Time limits: a long piece of work in slices")
    func slices() {
        struct Done: Error {}
        let (index, log) = (SharedLog<String>(), eventLog)
        let names = (0..<250).map { "\($0)" }
        let rest = SynchronizedValue(names[...])
        let sorting = RepeatingWork(every: .zero, on: clock) {
            let slice = rest.write { rest in
                defer { rest = rest.dropFirst(100) }
                return rest.prefix(100)
            }
            if slice.isEmpty { throw Done() }
            for name in slice { index.add(name) }
        }
        sorting.deferred.recover(Done.self) { _ in }.done { print("sorted") }
        #expect(index.all.count == 100)
        clock.advance()
        #expect(index.all == names && log.all == ["sorted"])
    }

    @Test("Time limits: the latest call only")
    func latestCall() {
        @Sendable func find(_ text: String) -> Deferred<[String]> { .resolved([text, text]) }
        @Sendable func show(_ results: [String]) { eventLog.add("\(results)") }
        let search = DeferredLatest(debounce: .milliseconds(300), on: clock)

        func textChanged(_ text: String) {
            search.run { find(text) }.done { results in show(results) }
        }
        for text in ["s", "sw", "swi"] {
            textChanged(text)
            clock.advance(by: .milliseconds(100))
        }
        clock.advanceUntilIdle()
        #expect(eventLog.all == [#"["swi", "swi"]"#])
    }

    /// Starts one piece of work in each interval, and up to `capacity` at once after a pause.
    final class TokenBucket: Sendable {
        private let tokens: DeferredQueue<Void>
        private let refill: Deferred<Void>

        init(capacity: Int, every interval: Duration, on dispatcher: any DelayedDispatcher) {
            let tokens = DeferredQueue<Void>(size: capacity)
            self.tokens = tokens
            // A full bucket takes no further token.
            @Sendable func add(_ count: Int) { for _ in 0..<min(count, capacity) { try? tokens.put(()) } }
            add(capacity)
            refill = Deferred.repeating(every: interval, on: dispatcher, startsNow: false, withCount: add)
        }

        deinit { refill.cancel() }

        /// Waits for a token, in the order of the calls, and runs `body`.
        func run<R: DeferredConvertible>(_ body: @escaping @Sendable () throws -> R) -> Deferred<R.Value> {
            tokens.get().then(body)
        }
    }

    @Test("Time limits: a token bucket")
    func tokenBucket() throws {
        let names = (0..<6).map { "user \($0)" }
        let bucket = TokenBucket(capacity: 3, every: .seconds(1), on: clock)
        let pages = names.map { name in bucket.run { fetchPage(of: name) } }
        #expect(eventLog.all.count == 3)
        pages[3].cancel()
        clock.advance(by: .seconds(1))
        #expect(eventLog.all.last == "fetches user 4")
        clock.advance(by: .seconds(1))
        #expect(eventLog.all.count == 5)
        // After a pause, as many at once as the bucket has room for.
        clock.advance(by: .seconds(100))
        let more = (0..<5).map { number in bucket.run { fetchPage(of: "guest \(number)") } }
        #expect(eventLog.all.count == 8)
        try successResult(of: pages[5])
        withExtendedLifetime((bucket, more)) {}
    }

    @Test("Time limits: a token bucket that is released stops its timer and abandons those that wait")
    func releasedBucket() throws {
        var bucket: TokenBucket? = TokenBucket(capacity: 1, every: .seconds(1), on: clock)
        _ = bucket?.run { Deferred.resolved(1) }
        let waiting = try #require(bucket?.run { Deferred.resolved(2) })
        bucket = nil
        #expect(clock.scheduled.isEmpty)
        #expect(try failureResult(of: waiting) as? DeferredError == .abandoned)
    }
}
