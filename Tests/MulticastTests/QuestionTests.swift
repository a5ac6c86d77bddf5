import Deferred
import DeferredTesting
import Dispatch
import TestSupport
import Testing

@testable import Multicast

/// What all forms of questions have in common.
@Suite(.watchdog)
struct QuestionTests {
    private let panel = Panel()

    @Test(
        "all, any, first, reduce, collect: without delegates all agree, at once",
        arguments: QuestionForm.allCases)
    func nobody(form: QuestionForm) throws {
        #expect(try form.ask(panel.delegates).currentResult?.get() == true)
    }

    @Test("all, any, first, reduce, collect: one no decides", arguments: QuestionForm.allCases, [0, 1, 2])
    func decided(form: QuestionForm, who: Int) throws {
        panel.add((0..<3).map { $0 == who ? 0 : 1 })
        #expect(try form.ask(panel.delegates).currentResult?.get() == false)
    }

    @Test(
        "a delegate that is deallocated or removed before it is asked is skipped",
        arguments: QuestionForm.allCases)
    func gone(form: QuestionForm) throws {
        let queue = ManualDispatcher()
        var answerers = [1, 0, 0, 1].map { LoggingAnswerer(panel.log, $0) }
        for answerer in answerers { panel.delegates.add(answerer, on: queue) }
        let result = form.ask(panel.delegates)
        answerers.remove(at: 1)
        panel.delegates.remove(answerers[1])
        queue.run()
        #expect(try result.currentResult?.get() == true)
        #expect(panel.log.all == ["q 1", "q 1"])
        withExtendedLifetime(answerers) {}
    }

    @Test("M4: nothing is submitted for a delegate that was deallocated", arguments: QuestionForm.allCases)
    func goneOnQueue(form: QuestionForm) throws {
        let queue = ManualDispatcher()
        panel.delegates.add(LoggingAnswerer(panel.log, 0), on: queue)
        #expect(try form.ask(panel.delegates).currentResult?.get() == true)
        #expect(queue.count == 0)
    }

    @Test(
        "the first error fails it, unchanged; nobody is asked after it, unless all are in any case",
        arguments: QuestionForm.allCases)
    func failure(form: QuestionForm) {
        panel.add([1, 0, 1])
        let result = form.ask(panel.delegates) { delegate in
            if try delegate.answer("q") == 0 { throw Refusal() }
            return true
        }
        #expect(throws: Refusal()) { try result.currentResult?.get() }
        #expect(panel.log.all == (form.asksAll ? ["q 1", "q 0", "q 1"] : ["q 1", "q 0"]))
    }

    @Test(
        "cancelled, nobody else is asked, and what was promised is cancelled",
        arguments: QuestionForm.allCases)
    func cancelled(form: QuestionForm) {
        let queue = ManualDispatcher()
        panel.add([1, 1], each: [nil, queue])
        let (promise, resolver) = Deferred<Bool>.withResolver()
        let result = form.ask(panel.delegates, promising: { _ in promise })
        result.cancel()
        queue.run()
        #expect(throws: CancellationError.self) { try result.currentResult?.get() }
        #expect(panel.log.all == ["q 1"])
        #expect(resolver.isCancelled == QuestionForm.promised.contains(form))
    }

    @Test(
        "a promise is waited for; P1: so is one that is paused, though its outcome can be seen",
        arguments: QuestionForm.promised, [true, false])
    func promised(form: QuestionForm, isPaused: Bool) throws {
        panel.add([1])
        let promise = isPaused ? Deferred.resolved(true) : Deferred<Bool>()
        if isPaused { promise.pause() }
        let result = form.ask(panel.delegates, promising: { _ in promise })
        #expect(result.currentResult == nil)
        if isPaused { promise.unpause() } else { promise.resolve(true) }
        #expect(try result.currentResult?.get() == true)
    }

    @Test(
        "C7: of promises that wait for a lock, none begins once the question is cancelled or decided",
        arguments: [true, false])
    func promisesThatWait(isDecided: Bool) throws {
        panel.add([1, 1, 1])
        let (lock, begun, vote) = (DeferredLock(), SharedLog<Int>(), Deferred<Bool>())
        let form = QuestionForm.allPromisedAtOnce
        let result = form.ask(panel.delegates) { _ in
            true
        } promising: { _ in
            lock.run {
                begun.add(1)
                return vote
            }
        }
        if isDecided { vote.resolve(false) } else { result.cancel() }
        #expect(result.isSettled && begun.all.count == 1 && !lock.isLocked && lock.waitingCount == 0)
    }

    @Test(
        "A1: a question does not retain the handle that a delegate returns", arguments: QuestionForm.promised)
    func abandonedPromise(form: QuestionForm) {
        panel.add([1, 1])
        let result = form.ask(panel.delegates, promising: { _ in Deferred() })
        #expect(throws: DeferredError.abandoned) { try result.currentResult?.get() }
    }

    @Test(
        "A1: a dispatcher that drops its work, or is released with it, releases the question, which fails as abandoned",
        arguments: QuestionForm.allCases, [true, false])
    func abandoned(form: QuestionForm, isDropped: Bool) {
        let log = SharedLog<String>()
        let answerers = (0..<3).map { LoggingAnswerer(log, $0) }
        weak var released: ManualDispatcher?
        let result: Deferred<Bool>
        do {
            let delegates = MulticastDelegate<any AnsweringDelegate>()
            let queue = ManualDispatcher()
            for answerer in answerers { delegates.add(answerer, on: queue) }
            let witness = ReleaseProbe(log)
            result = form.ask(delegates) { _ in withExtendedLifetime(witness) { true } }
            #expect(result.currentResult == nil)
            if isDropped { queue.dropAll() }
            released = queue
        }
        #expect(released == nil)
        #expect(log.all == ["released"])
        #expect(throws: DeferredError.abandoned) { try result.currentResult?.get() }
        withExtendedLifetime(answerers) {}
    }

    @Test("U1: an answer's abandonment is reported if something is attached to it", arguments: [true, false])
    func unawaited(isAttached: Bool) {
        let (queue, reports, other) = (ManualDispatcher(), SharedLog<String>(), Panel())
        panel.add([1, 1], on: queue)
        other.add([1])
        DeferredDiagnostics.withHandler({ reports.add("\($0)") }) {
            var answers: [any Sendable] = []
            func keep<T>(_ answer: Deferred<T>) { answers.append(isAttached ? answer.map { _ in } : answer) }
            for order in [MulticastOrder.sequentially, .concurrently] {
                keep(panel.delegates.all(asking: order) { _ in true })
                keep(panel.delegates.any(asking: order) { _ in true })
                keep(panel.delegates.first(asking: order) { _ in true })
                keep(other.delegates.all(asking: order) { _ in Deferred<Bool>() })
            }
            keep(panel.delegates.collect { _ in 1 })
            keep(panel.delegates.reduce(over: 1) { number, _ in .next(number) })
            keep(other.delegates.reduceDeferred(over: 1) { _, _ in Deferred<MulticastStep<Int>>() })
            queue.dropAll()
            answers = []
        }
        #expect(reports.all.count == (isAttached ? 11 : 0), "\(reports.all)")
    }

    @Test(
        "A1: a question outlives its MulticastDelegate as long as the dispatchers are retained",
        arguments: QuestionForm.allCases)
    func outlivesDelegates(form: QuestionForm) throws {
        let queue = ManualDispatcher()
        let answerers = (1...3).map { LoggingAnswerer(panel.log, $0) }
        let result: Deferred<Bool>
        do {
            let delegates = MulticastDelegate<any AnsweringDelegate>()
            for answerer in answerers { delegates.add(answerer, on: queue) }
            result = form.ask(delegates)
        }
        queue.run()
        #expect(try result.currentResult?.get() == true)
        #expect(panel.log.all.count == 3)
        withExtendedLifetime(answerers) {}
    }

    @Test(
        "M1: many delegates cost no stack, at once, on dispatchers that run their work at once, or on a queue",
        arguments: [QuestionForm.reduceInto, .reduceDeferred], 0..<3)
    func deep(form: QuestionForm, place: Int) throws {
        let queue = ManualDispatcher()
        let places: [(any Dispatcher)?] = [nil, InlineDispatcher(), queue]
        let answerer = LoggingAnswerer(SharedLog(), 1)
        for _ in 0..<min(Extent.depth, 100_000) { panel.delegates.add(answerer, on: places[place]) }
        let result = form.ask(panel.delegates) { _ in true }
        queue.run()
        #expect(try result.currentResult?.get() == true)
        withExtendedLifetime(answerer) {}
    }
}

/// Where the delegates of a question are called, and the callbacks of its result.
@Suite(.watchdog)
struct AnsweringThreadTests {
    private let panel = Panel()

    private static let place = DispatchSpecificKey<String>()
    private static var currentPlace: String { DispatchQueue.getSpecific(key: place) ?? "the caller's thread" }

    /// Runs its work on a queue of its own, before `dispatch` returns.
    private struct WaitingDispatcher: Dispatcher {
        let queue = DispatchQueue(label: "waiting")

        init(_ name: String) { queue.setSpecific(key: place, value: name) }

        func dispatch(_ work: @escaping @Sendable () -> Void) {
            let done = DispatchSemaphore(value: 0)
            queue.async {
                work()
                done.signal()
            }
            expectSignal(done)
        }
    }

    private func places(of form: QuestionForm) -> [String] {
        let places = SharedLog<String>()
        let result = form.ask(panel.delegates) { _ in
            places.add(Self.currentPlace)
            return true
        }
        #expect(result.currentResult != nil)
        return places.all
    }

    @Test(
        "M1: a delegate without a dispatcher is called where the one before it answered, also before dispatch returns",
        arguments: QuestionForm.sequential)
    func calledWhereAnswered(form: QuestionForm) {
        panel.add([1, 1, 1], each: [WaitingDispatcher("first"), nil, WaitingDispatcher("third")])
        #expect(places(of: form) == ["first", "first", "third"])
    }

    @Test(
        "M1: what is attached while the last delegate is asked runs where it answers, also below a promise",
        arguments: QuestionForm.allCases)
    func attachedRunsWhereAnswered(form: QuestionForm) {
        let queue = ManualDispatcher()
        panel.add([1, 1], each: [nil, queue])
        let result = form.ask(panel.delegates)
        let log = SharedLog<String>()
        result.done { log.add("\($0) on \(Self.currentPlace)") }
        let place = DispatchQueue(label: "place")
        place.setSpecific(key: Self.place, value: "place")
        place.sync { _ = queue.run() }
        #expect(log.all == ["true on place"])
    }

    @Test(
        "F3: a callback attached after the last answer runs at once", arguments: QuestionForm.allCases,
        [true, false])
    func late(form: QuestionForm, fails: Bool) {
        let dispatcher = ManualDispatcher()
        panel.add([1], on: dispatcher)
        let result = form.ask(panel.delegates) { _ in if fails { throw Refusal() } else { true } }
        dispatcher.run()
        let log = SharedLog<String>()
        result.both { _ in
            result.both { _ in log.add("inner") }
            log.add("outer")
        }
        #expect(log.all == ["outer", "inner"])
        #expect(dispatcher.count == 0)
    }

    @Test("F3: a settled answer can be waited for on the last delegate's own queue", .ownThreads)
    func onTheQueue() throws {
        let queue = DispatchQueue(label: "answers")
        panel.add([1], on: queue)
        let result = panel.delegates.collect { try $0.answer("q") }
        #expect(try result.wait() == [1])
        let sum = try queue.sync { try result.map { $0.reduce(0, +) }.wait() }
        #expect(sum == 1)
    }
}
