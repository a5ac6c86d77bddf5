import Deferred
import DeferredTesting
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import Multicast

@Suite(.timeLimit(.minutes(5)))
struct CollectingTests {
    private let delegates = MulticastDelegate<any AnsweringDelegate>()
    private let log = SharedLog<String>()

    @Test("collect: answers stand in the order added, whatever order they came in")
    func order() throws {
        let answerers = (1...4).map { LoggingAnswerer(log, $0) }
        let queues = [HeldDispatcher(), HeldDispatcher()]
        let places: [(any Dispatcher)?] = [queues[0], nil, queues[1], nil]
        for (answerer, place) in zip(answerers, places) { delegates.add(answerer, on: place) }
        let answers = delegates.collect { try $0.answer("q") }
        #expect(answers.currentResult == nil)
        queues[1].run()
        queues[0].run()
        #expect(try answers.currentResult?.get() == [1, 2, 3, 4])
        #expect(log.all == ["q 2", "q 4", "q 3", "q 1"])
        withExtendedLifetime(answerers) {}
    }

    @Test("collect, all concurrently: those with a dispatcher are asked first, in the order added")
    func dispatchedFirst() {
        let answerers = (1...4).map { LoggingAnswerer(log, $0) }
        let places: [(any Dispatcher)?] = [nil, InlineDispatcher(), nil, InlineDispatcher()]
        for (answerer, place) in zip(answerers, places) { delegates.add(answerer, on: place) }
        _ = delegates.collect { try $0.answer("c") }
        _ = delegates.all(asking: .concurrently) { try $0.answer("a") > 0 }
        #expect(log.all == ["c 2", "c 4", "c 1", "c 3", "a 2", "a 4", "a 1", "a 3"])
        withExtendedLifetime(answerers) {}
    }

    @Test("collect: without delegates the answer is empty, at once")
    func nobody() throws {
        #expect(try delegates.collect { try $0.answer("q") }.currentResult?.get() == [])
    }

    @Test("collect: a delegate that is deallocated or removed before it is asked is skipped")
    func gone() throws {
        let queue = HeldDispatcher()
        var answerers = (1...3).map { LoggingAnswerer(log, $0) }
        for answerer in answerers { delegates.add(answerer, on: queue) }
        let answers = delegates.collect { try $0.answer("q") }
        answerers.removeFirst()
        delegates.remove(answerers[0])
        queue.run()
        #expect(try answers.currentResult?.get() == [3])
        withExtendedLifetime(answerers) {}
    }

    @Test(
        "collect: the first error fails it as it is; the others are asked all the same, and their errors reported"
    )
    func failure() {
        let answerers = (1...3).map { number in
            LoggingAnswerer(log) { _ in
                if number < 3 { throw Refusal(number: number) }
                return number
            }
        }
        for answerer in answerers { delegates.add(answerer, on: nil) }
        let reported = SharedLog<Refusal?>()
        let places = SharedLog<DeferredDiagnostic.Location>()
        DeferredDiagnostics.withHandler({ diagnostic in
            guard case .unhandledFailure(let error, let made) = diagnostic else { return }
            reported.add(error as? Refusal)
            places.add(made)
        }) {
            let answers = delegates.collect { try $0.answer("q") }
            #expect(throws: Refusal(number: 1)) { try answers.currentResult?.get() }
        }
        #expect(log.all == ["q 3"])
        #expect(reported.all == [Refusal(number: 2)])
        #expect(
            places.all.map(\.fileID) == ["MulticastTests/MulticastDelegateAnswersTests.swift"],
            "M3: the caller's place")
        withExtendedLifetime(answerers) {}
    }

    @Test("collect: delegates may promise their answers; nobody is blocked meanwhile")
    func promised() throws {
        let answerers = (1...2).map { LoggingAnswerer(log, $0) }
        for answerer in answerers { delegates.add(answerer, on: nil) }
        let (gate, resolver) = Deferred<Int>.withResolver()
        let answers = delegates.collectDeferred { delegate -> Deferred<Int> in
            let number = try delegate.answer("q")
            return gate.map { $0 + number }
        }
        #expect(answers.currentResult == nil)
        resolver.resolve(10)
        #expect(try answers.currentResult?.get() == [11, 12])
        withExtendedLifetime(answerers) {}
    }

    @Test("collect: cancelled, it asks no further delegate, and cancels what was promised")
    func cancelled() {
        let queue = HeldDispatcher()
        let answerers = (1...2).map { LoggingAnswerer(log, $0) }
        delegates.add(answerers[0], on: nil)
        delegates.add(answerers[1], on: queue)
        let promise = Deferred<Int>.withResolver()
        let answers = delegates.collectDeferred { delegate -> Deferred<Int> in
            _ = try delegate.answer("q")
            return promise.deferred
        }
        answers.cancel()
        queue.run()
        #expect(log.all == ["q 1"])
        #expect(throws: CancellationError.self) { try answers.currentResult?.get() }
        #expect(promise.resolver.isCancelled)
        withExtendedLifetime(answerers) {}
    }

    @Test("collect: a dispatcher that drops its work fails it as abandoned")
    func abandoned() {
        let queue = HeldDispatcher()
        let answerer = LoggingAnswerer(log, 1)
        delegates.add(answerer, on: queue)
        let answers = delegates.collect { try $0.answer("q") }
        queue.drop()
        guard case .failure(DeferredError.abandoned)? = answers.currentResult else {
            Issue.record("\(String(describing: answers.currentResult))")
            return
        }
        withExtendedLifetime(answerer) {}
    }
}

@Suite(.timeLimit(.minutes(5)))
struct VotingTests {
    private let delegates = MulticastDelegate<any AnsweringDelegate>()
    private let log = SharedLog<String>()

    private func vote(_ number: Int) -> Bool { number > 0 }

    @Test("any: each is asked on its own queue after the one before it, and none after the first yes")
    func anyStops() throws {
        let answerers = [0, 1, 1].map { LoggingAnswerer(log, $0) }
        let queues = answerers.map { _ in HeldDispatcher() }
        for (answerer, queue) in zip(answerers, queues) { delegates.add(answerer, on: queue) }
        let handled = delegates.any { try $0.answer("iq") > 0 }
        #expect(queues.map(\.count) == [1, 0, 0])
        queues[0].run()
        #expect(queues.map(\.count) == [0, 1, 0])
        #expect(handled.currentResult == nil)
        queues[1].run()
        #expect(queues.map(\.count) == [0, 0, 0])
        #expect(try handled.currentResult?.get() == true)
        #expect(log.all == ["iq 0", "iq 1"])
        withExtendedLifetime(answerers) {}
    }

    @Test("any: only when all have said no, the asker answers with an error, and nobody was blocked")
    func unhandledQuery() throws {
        let queues = [SerialDispatcher(), SerialDispatcher()]
        let answerers = queues.map { _ in LoggingAnswerer(log, 0) }
        for queue in queues { queue.queue.suspend() }
        for (answerer, queue) in zip(answerers, queues) { delegates.add(answerer, on: queue) }
        let replied = DispatchSemaphore(value: 0)
        delegates.any { try $0.answer("iq") > 0 }.done { [log] handled -> Void in
            log.add(handled ? "handled" : "error reply")
            replied.signal()
        }
        log.add("asked")
        for queue in queues { queue.queue.resume() }
        expectSignal(replied)
        #expect(log.all == ["asked", "iq 0", "iq 0", "error reply"])
        withExtendedLifetime(answerers) {}
    }

    @Test("all: any no decides, and nobody is asked after it")
    func allStops() throws {
        let answerers = [1, 0, 1].map { LoggingAnswerer(log, $0) }
        for answerer in answerers { delegates.add(answerer, on: nil) }
        #expect(try delegates.all { try $0.answer("may I?") > 0 }.currentResult?.get() == false)
        #expect(log.all == ["may I? 1", "may I? 0"])
        delegates.remove(answerers[1])
        #expect(try delegates.all { try $0.answer("now?") > 0 }.currentResult?.get() == true)
        withExtendedLifetime(answerers) {}
    }

    @Test("all, any: without delegates, all agree and none does")
    func nobody() throws {
        #expect(try delegates.all { try $0.answer("q") > 0 }.currentResult?.get() == true)
        #expect(try delegates.any { try $0.answer("q") > 0 }.currentResult?.get() == false)
    }

    @Test(
        "all, any, reduce: a closure that always throws is one for plain answers, and its error the outcome")
    func throwing() {
        struct Oops: Error {}
        let answerer = LoggingAnswerer(log, 1)
        delegates.add(answerer, on: nil)
        #expect(throws: Oops.self) { try delegates.any { _ in throw Oops() }.currentResult?.get() }
        #expect(throws: Oops.self) { try delegates.all { _ in throw Oops() }.currentResult?.get() }
        let reduced: Deferred<Int> = delegates.reduce(over: 1) { _, _ in throw Oops() }
        #expect(throws: Oops.self) { try reduced.currentResult?.get() }
        withExtendedLifetime(answerer) {}
    }

    @Test("all, any: votes may be promised")
    func promised() throws {
        let answerers = [0, 1].map { LoggingAnswerer(log, $0) }
        for answerer in answerers { delegates.add(answerer, on: nil) }
        let (gate, resolver) = Deferred<Void>.withResolver()
        let ask: @Sendable (any AnsweringDelegate) throws -> Deferred<Bool> = { delegate in
            let answer = try delegate.answer("q")
            return gate.map { answer > 0 }
        }
        let all = delegates.all(ask)
        let any = delegates.any(ask)
        #expect(all.currentResult == nil)
        resolver.resolve(())
        #expect(try all.currentResult?.get() == false)
        #expect(try any.currentResult?.get() == true)
        withExtendedLifetime(answerers) {}
    }

    @Test("any: one that is deallocated or removed before it is asked has no vote")
    func gone() throws {
        let queue = HeldDispatcher()
        var answerers = [0, 1, 1, 0].map { LoggingAnswerer(log, $0) }
        for answerer in answerers { delegates.add(answerer, on: queue) }
        let handled = delegates.any { try $0.answer("iq") > 0 }
        answerers.remove(at: 1)
        delegates.remove(answerers[1])
        queue.run()
        #expect(try handled.currentResult?.get() == false)
        #expect(log.all == ["iq 0", "iq 0"])
        withExtendedLifetime(answerers) {}
    }

    @Test("all: an error fails it, and nobody is asked after it")
    func failure() {
        let answerers = [
            LoggingAnswerer(log, 1), LoggingAnswerer(log) { _ in throw Refusal() }, LoggingAnswerer(log, 1),
        ]
        for answerer in answerers { delegates.add(answerer, on: nil) }
        let agreed = delegates.all { try $0.answer("q") > 0 }
        #expect(throws: Refusal()) { try agreed.currentResult?.get() }
        #expect(log.all == ["q 1"])
        withExtendedLifetime(answerers) {}
    }
}

@Suite(.timeLimit(.minutes(5)))
struct ReducingTests {
    private let delegates = MulticastDelegate<any AnsweringDelegate>()
    private let log = SharedLog<String>()

    @Test("reduce(into:): every delegate adds to the result one after another, at once or on its queue")
    func into() throws {
        let queue = HeldDispatcher()
        let answerers = (1...4).map { LoggingAnswerer(log, $0) }
        let places: [(any Dispatcher)?] = [nil, queue, nil, queue]
        for (answerer, place) in zip(answerers, places) { delegates.add(answerer, on: place) }
        let digits = delegates.reduce(into: "") { digits, delegate in
            digits += String(try delegate.answer(digits))
        }
        queue.run()
        #expect(try digits.currentResult?.get() == "1234")
        #expect(log.all == [" 1", "1 2", "12 3", "123 4"])
        withExtendedLifetime(answerers) {}
    }

    @Test("M5: reduce(into:) changes its result in place: nothing is copied")
    func inPlace() throws {
        /// Counts the changes that had to copy it first.
        struct Counted: Sendable {
            final class Buffer: Sendable {}
            var buffer = Buffer()
            var copies = 0

            mutating func change() {
                if !isKnownUniquelyReferenced(&buffer) {
                    copies += 1
                    buffer = Buffer()
                }
            }
        }
        let queue = HeldDispatcher()
        let answerer = LoggingAnswerer(log, 1)
        let places: [(any Dispatcher)?] = [nil, queue, nil, queue, queue]
        for place in places { delegates.add(answerer, on: place) }
        let counted = delegates.reduce(into: Counted()) { counted, _ in counted.change() }
        queue.run()
        #expect(try counted.currentResult?.get().copies == 0)
        withExtendedLifetime(answerer) {}
    }

    @Test("reduce(over:): a delegate may stop it with a result")
    func over() throws {
        let answerers = (1...4).map { LoggingAnswerer(log, $0) }
        for answerer in answerers { delegates.add(answerer, on: nil) }
        let sum = delegates.reduce(over: 0) { sum, delegate -> MulticastTurn<Int> in
            let answer = try delegate.answer("q")
            return sum + answer >= 3 ? .stop(sum + answer) : .next(sum + answer)
        }
        #expect(try sum.currentResult?.get() == 3)
        #expect(log.all == ["q 1", "q 2"])
        withExtendedLifetime(answerers) {}
    }

    @Test("reduce: cancelled, nobody else is asked, and what was promised is cancelled")
    func cancelled() {
        let answerers = (1...2).map { LoggingAnswerer(log, $0) }
        for answerer in answerers { delegates.add(answerer, on: nil) }
        let promise = Deferred<MulticastTurn<Int>>.withResolver()
        let sum = delegates.reduceDeferred(over: 0) { _, delegate -> Deferred<MulticastTurn<Int>> in
            _ = try delegate.answer("q")
            return promise.deferred
        }
        sum.cancel()
        #expect(promise.resolver.isCancelled)
        #expect(throws: CancellationError.self) { try sum.currentResult?.get() }
        #expect(log.all == ["q 1"])
        withExtendedLifetime(answerers) {}
    }

    @Test(
        "reduce: 100,000 delegates cost no stack, answering at once or on a queue", arguments: [true, false])
    func deep(atOnce: Bool) throws {
        let queue = HeldDispatcher()
        let answerer = LoggingAnswerer(SharedLog()) { _ in 1 }
        for _ in 0..<100_000 { delegates.add(answerer, on: atOnce ? nil : queue) }
        let sum = delegates.reduce(into: 0) { sum, _ in sum += 1 }
        queue.run()
        #expect(try sum.currentResult?.get() == 100_000)
        withExtendedLifetime(answerer) {}
    }

    @Test("reduce: questions on many real queues come one after another")
    func realQueues() async throws {
        let answerers = (0..<200).map { LoggingAnswerer(log, $0) }
        let queues = (0..<4).map { DispatchQueue(label: "queue \($0)") }
        for (index, answerer) in answerers.enumerated() { delegates.add(answerer, on: queues[index % 4]) }
        let order = try await delegates.reduce(into: [Int]()) { order, delegate in
            order.append(try delegate.answer("q"))
        }.value
        #expect(order == Array(0..<200))
        withExtendedLifetime(answerers) {}
    }
}
