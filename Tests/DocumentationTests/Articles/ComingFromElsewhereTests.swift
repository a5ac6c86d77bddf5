import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import Multicast
import TestSupport
import Testing

/// Runs the code in each row of the tables in ComingFromElsewhere.md and checks its result.
@Suite struct ComingFromElsewhereTests {
    let eventLog = SharedLog<String>()
    let clock = ManualClock()
    let error = Refused()

    private func f(_ value: Int) -> Int { value + 1 }
    private func g(_ error: any Error) -> Int { -1 }
    private func h(_ result: Result<Int, any Error>) -> Int { (try? result.get()) ?? -1 }
    private func fetch(_ number: Int) -> Deferred<String> { .resolved("page \(number)") }
    private func load() throws -> Int { 7 }
    private func start() throws -> Deferred<Int> { .resolved(9) }
    private func work() async throws -> Int { 8 }
    private func stop() { eventLog.add("stop") }
    private func task() { eventLog.add("task") }
    private func show(_ value: Int) { eventLog.add("show \(value)") }
    private func report(_ error: any Error) { eventLog.add("report \(error)") }
    private func note(_ result: Result<Int, any Error>) { eventLog.add("note") }

    @Test("Coming from elsewhere: making one, and firing")
    func firing() async throws {
        let d = Deferred<Int>()
        #expect(d.resolve(1))
        let e = Deferred<Int>()
        do {
            let d = e
            #expect(d.reject(error))
        }
        #expect(try failureResult(of: e) is Refused)
        Deferred<Int>(canceller: { _ in stop() }).cancel()
        #expect(eventLog.all == ["stop"])
        #expect(try successResult(of: Deferred.resolved(1)) == 1)
        #expect(try failureResult(of: Deferred<Int>.rejected(error)) is Refused)
        #expect(try successResult(of: Deferred(catching: { try load() })) == 7)
        #expect(try successResult(of: Deferred(following: { try start() })) == 9)
        #expect(try await Deferred { try await work() }.value == 8)
        #expect(try successResult(of: Deferred<Int> { resolver in resolver.resolve(1) }) == 1)
        do {
            let (future, resolver) = Deferred<Int>.withResolver()
            resolver.resolve(1)
            #expect(try successResult(of: future) == 1)
        }
        do {
            let (future, resolver) = Deferred<Int>.withResolver()
            resolver.reject(error)
            #expect(try failureResult(of: future) is Refused)
        }
        let result = Result<Int, any Error>.success(3)
        let (future, resolver) = Deferred<Int>.withResolver()
        resolver.complete(with: result)
        #expect(try successResult(of: future) == 3)
    }

    @Test("Coming from elsewhere: callbacks")
    func callbacks() throws {
        let d = Deferred.resolved(1)
        #expect(try successResult(of: d.map { f($0) }) == 2)
        #expect(
            try successResult(
                of: d.map {
                    f($0)
                } recover: {
                    g($0)
                }) == 2)
        #expect(try successResult(of: d.then { fetch($0) }) == "page 1")
        #expect(try successResult(of: d.mapResult { h($0) }) == 1)
        #expect(try successResult(of: d.thenReturn("done")) == "done")
        d.both { note($0) }
        d.finally { _ in stop() }
        d.always { _ in stop() }
        d.done { show($0) }
        #expect(eventLog.all == ["note", "stop", "stop", "show 1"])
        // swift-format-ignore
        let shown = d.map { value in show(value); return value }
        #expect(try successResult(of: shown) == 1)
        #expect(try successResult(of: d.always { note($0) }) == 1)
        #expect(d.hasFired)
        let loop = ManualDispatcher()
        let hopped = d.map(on: loop) { f($0) }
        loop.run()
        #expect(try successResult(of: hopped) == 2)
    }

    @Test("Coming from elsewhere: on the main queue")
    func mainQueue() async throws {
        let d = Deferred.resolved(1)
        try await d.done(on: .main) { show($0) }.value
        #expect(eventLog.all == ["show 1"])
    }

    @Test("Coming from elsewhere: errbacks")
    func errbacks() throws {
        let d = Deferred<Int>.rejected(NotFound())
        #expect(try successResult(of: d.recover { g($0) }) == -1)
        #expect(
            try successResult(
                of: d.map {
                    f($0)
                } recover: {
                    g($0)
                }) == -1)
        #expect(try successResult(of: d.recover(NotFound.self) { _ in 0 }) == 0)
        #expect(try successResult(of: d.recover { _ in 0 }) == 0)
        d.fail { report($0) }
        #expect(eventLog.all == ["report NotFound()"])
        d.fail { error in if !(error is CancellationError) { report(error) } }
        #expect(eventLog.all.count == 2)
        do {
            let d = Deferred<Int>.rejected(CancellationError())
            d.fail { error in if !(error is CancellationError) { report(error) } }
            #expect(eventLog.all.count == 2)
        }
        do {
            let d = Deferred<String>.rejected(NotFound())
            #expect(try successResult(of: d.orElse { _ in fetch(0) }) == "page 0")
        }
    }

    @Test("Coming from elsewhere: structured concurrency")
    func structured() async throws {
        do {
            let d = Deferred { try await work() }
            #expect(try await d.value == 8)
        }
        let (fetch, numbers): (@Sendable (Int) -> Deferred<String>, [Int]) = (
            { .resolved("page \($0)") }, [1, 2]
        )
        let pages = DeferredList(numbers, limit: 4) { fetch($0) }.results()
        #expect(try successResult(of: pages).count == 2)
        let q = DeferredQueue<Int>()
        try q.put(1)
        #expect(q.count == 1)
        let channel = DeferredQueue<Int>(size: 0)
        let sent = channel.send(1)
        try expectNoResult(sent)
        let worker = channel.run { show($0) }
        try successResult(of: sent)
        channel.finish()
        try successResult(of: worker)
        #expect(eventLog.all == ["show 1"])
        _ = Channel<Int>("numbers").messages()
        let lock = DeferredLock()
        #expect(try await lock.asyncRun { try await work() }.value == 8)
        let search = DeferredLatest(debounce: .seconds(1), on: clock)
        let latest = ["a", "ab"].map { text in search.syncRun { text } }
        clock.advance(by: .seconds(1))
        #expect(try successResult(of: latest[1]) == "ab")
    }

    @Test("Coming from elsewhere: lists of values, a check that returns a Result, and a label")
    func values() async throws {
        let (numbers, text) = (Deferred.resolved([1, 2]), Deferred.resolved("x"))
        #expect(try successResult(of: numbers.map { $0.map(f) }) == [2, 3])
        let pages = numbers.then { DeferredList($0.map(fetch)).values() }
        #expect(try successResult(of: pages) == ["page 1", "page 2"])
        // swift-format-ignore
        let parsed = text.map { text -> Int in
            guard let number = Int(text) else { throw NotFound() }; return number }
        #expect(try failureResult(of: parsed) is NotFound)
        @Sendable func check(_ value: Int) -> Result<String, Refused> {
            value == 1 ? .success("one") : .failure(Refused())
        }
        let d = Deferred.resolved(1)
        #expect(try successResult(of: d.map { try check($0).get() }) == "one")
        try successResult(of: d.map { _ in })
        @MainActor final class Label {
            var count = 0
        }
        let label = Label()
        try await d.done(on: MainActor.self) { label.count = $0 }.value
        #expect(await label.count == 1)
    }

    @Test("Coming from elsewhere: cancelling, pausing, handing on")
    func control() throws {
        let d = Deferred<Int>()
        d.pause()
        let shown = d.map { f($0) }
        d.unpause()
        shown.cancel()
        #expect(try failureResult(of: shown) is CancellationError)
        #expect(try failureResult(of: d) is CancellationError)
        let e = Deferred<Int>()
        do {
            let d = e
            d.cancel()
        }
        #expect(try failureResult(of: e) is CancellationError)
        do {
            struct Wrapped: Error {
                init(_ error: any Error) {}
            }
            let (d, bag) = (Deferred<Int>.never(), CancelBag())
            d.done { show($0) }.store(in: bag)
            bag.cancelAll()
            #expect(try failureResult(of: d.mapError { Wrapped($0) }) is Wrapped)
        }
        let (follower, other) = Deferred<Int>.withResolver()
        do {
            let d = Deferred.resolved(5)
            d.chain(to: other)
        }
        #expect(try successResult(of: follower) == 5)
    }

    @Test("Coming from elsewhere: time")
    func time() throws {
        do {
            let d = Deferred<Int>()
            let limited = d.timeout(.seconds(5), on: clock)
            clock.advance(by: .seconds(5))
            #expect(try failureResult(of: limited) as? DeferredError == .timedOut)
        }
        let later = Deferred.after(.seconds(1), on: clock).done { task() }
        clock.advance(by: .seconds(1))
        try successResult(of: later)
        #expect(eventLog.all == ["task"])
        let ticks = Deferred.repeating(every: .seconds(30), on: clock) { task() }
        clock.advance(by: .seconds(60))
        #expect(eventLog.all.count == 4)
        ticks.cancel()
        let page = Deferred.retry(attempts: 3, delay: .none, on: clock) { fetch(0) }
        #expect(try successResult(of: page) == "page 0")
        do {
            let d = Deferred<Int>.never()
            let limited = d.timeout(.seconds(5), on: clock) { outcome in 0 }
            let call = IdleTimer(after: .seconds(5), on: clock)
            call.postpone(.seconds(9))
            clock.advance(by: .seconds(8))
            #expect(try successResult(of: limited) == 0)
            try expectNoResult(call.deferred)
            clock.advance(by: .seconds(1))
            try successResult(of: call.deferred)
        }
        let work = RepeatingWork(every: .seconds(30), on: clock) { task() }
        work.interval = .seconds(5)
        work.stop()
        try successResult(of: work.deferred)
    }

    @Test("Coming from elsewhere: several")
    func several() throws {
        let (a, b, name) = (Deferred.resolved(1), Deferred.resolved(2), Deferred.resolved("ann"))
        #expect(try successResult(of: DeferredList([a, b]).values()) == [1, 2])
        #expect(try successResult(of: DeferredList([a, b]).results()).count == 2)
        #expect(try successResult(of: DeferredList([a, b]).first()) == (0, 1))
        #expect(try successResult(of: DeferredList([a, b], cancelsRemaining: true).first()) == (0, 1))
        #expect(try successResult(of: gather(a, name)) == (1, "ann"))
        do {
            let a = Deferred<Int>.rejected(error)
            let failed = DeferredList([a, b], wrapErrors: true).values()
            #expect(try failureResult(of: failed, as: DeferredInputFailure.self).index == 0)
        }
    }

    @Test("Coming from elsewhere: the first to settle, and the first value")
    func firstToSettle() async throws {
        let (a, b) = (Deferred<Int>.rejected(error), Deferred.resolved(2))
        let first = await DeferredList([a, b]).completed.first { _ in true }
        #expect(first?.index == 0)
        #expect(throws: Refused.self) { try first?.result.get() }
        #expect(try successResult(of: DeferredList([a, b]).first()) == (1, 2))
    }

    @Test("Coming from elsewhere: an abandoned Deferred, and a retry that has failed")
    func endings() throws {
        let d = Deferred<Int> { _ in }
        #expect(try successResult(of: d.recover(DeferredError.self) { _ in 0 }) == 0)
        let page = Deferred<String>.retry(attempts: 2, delay: .none, on: clock) { .rejected(NotFound()) }
        page.fail(NotFound.self) { report($0) }
        clock.advance(by: .seconds(1))
        #expect(eventLog.all == ["report NotFound()"])
    }

    @Test("Coming from elsewhere: a value for one queue")
    func confined() async throws {
        final class Parser {
            var count = 0
            func parse(_ text: String) -> Int {
                count += text.count
                return count
            }
        }
        let value = Parser()
        let queue = DispatchQueue(label: "parser")
        let parser = Confined(value, to: queue)
        _ = try await parser.use { $0.parse("ab") }.value
        #expect(try await parser.use { $0.parse("abc") }.value == 5)
    }

    @Test("Coming from elsewhere: locks, semaphores, queues")
    func coordination() throws {
        let (lock, semaphore, q) = (DeferredLock(), DeferredSemaphore(4), DeferredQueue<Int>())
        lock.syncRun { task() }
        semaphore.syncRun { task() }
        #expect(eventLog.all == ["task", "task"])
        try q.put(1)
        #expect(q.elements == [1])
        #expect(try successResult(of: q.get()) == 1)
    }

    @Test("Coming from elsewhere: operations")
    func operations() async throws {
        let queue = OperationQueue()
        #expect(try await queue.deferred { try load() }.value == 7)
        let source = DataSource { _ in 9 }
        #expect(try await source.request(on: queue, deliveringOn: .main).value == 9)
    }

    @Test("Coming from elsewhere: looking and waiting")
    func looking() async throws {
        let d = Deferred<Int>()
        try expectNoResult(d)
        #expect(d.debugDescription.contains("ComingFromElsewhereTests.swift"))
        d.resolve(1)
        #expect(try successResult(of: d) == 1)
        #expect(try await d.value == 1)
        try waitInPlace(d)
        do {
            let d = Deferred<Int>.rejected(error)
            #expect(try failureResult(of: d) is Refused)
        }
        clock.advance(by: .seconds(5))
        #expect(clock.elapsed == .seconds(5))
    }

    private func waitInPlace(_ d: Deferred<Int>) throws {
        try d.wait()
    }
}
