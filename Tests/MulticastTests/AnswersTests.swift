import Deferred
import DeferredTesting
import TestSupport
import Testing

@testable import Multicast

/// The answers of each form of question; ``QuestionTests`` checks what they have in common.
@Suite(.watchdog)
struct AnswersTests {
    private let panel = Panel()
    private var delegates: MulticastDelegate<any AnsweringDelegate> { panel.delegates }
    private var log: SharedLog<String> { panel.log }

    @Test("collect: answers stand in the order added, whatever order they came in")
    func order() throws {
        let queues = [ManualDispatcher(), ManualDispatcher()]
        panel.add([1, 2, 3, 4], each: [queues[0], nil, queues[1], nil])
        let answers = delegates.collect { try $0.answer("q") }
        #expect(answers.currentResult == nil)
        queues[1].run()
        queues[0].run()
        #expect(try answers.currentResult?.get() == [1, 2, 3, 4])
        #expect(log.all == ["q 2", "q 4", "q 3", "q 1"])
    }

    @Test("collect, all concurrently: those with a dispatcher are asked first, in the order added")
    func dispatchedFirst() {
        panel.add([1, 2, 3, 4], each: [nil, InlineDispatcher(), nil, InlineDispatcher()])
        _ = delegates.collect { try $0.answer("c") }
        _ = delegates.all(asking: .concurrently) { try $0.answer("a") > 0 }
        #expect(log.all == ["c 2", "c 4", "c 1", "c 3", "a 2", "a 4", "a 1", "a 3"])
    }

    @Test("collect: a further error is reported as one that nobody handled, M3: with the caller's place")
    func furtherErrors() {
        panel.add([1, 2, 3])
        let reported = SharedLog<Refusal?>()
        let places = SharedLog<String>()
        DeferredDiagnostics.withHandler({ diagnostic in
            guard case .unhandledFailure(let error, let made) = diagnostic else { return }
            reported.add(error as? Refusal)
            places.add(made.fileID)
        }) {
            let answers = delegates.collect { delegate -> Int in
                let number = try delegate.answer("q")
                if number < 3 { throw Refusal(number: number) }
                return number
            }
            #expect(throws: Refusal(number: 1)) { try answers.currentResult?.get() }
        }
        #expect(reported.all == [Refusal(number: 2)])
        #expect(places.all == ["MulticastTests/AnswersTests.swift"])
    }

    @Test("any: each is asked on its own queue after the one before it, and none after the first yes")
    func anyStops() throws {
        let queues = (0..<3).map { _ in ManualDispatcher() }
        panel.add([0, 1, 1], each: queues)
        let handled = delegates.any { try $0.answer("iq") > 0 }
        #expect(queues.map(\.count) == [1, 0, 0])
        queues[0].run()
        #expect(queues.map(\.count) == [0, 1, 0])
        #expect(handled.currentResult == nil)
        queues[1].run()
        #expect(queues.map(\.count) == [0, 0, 0])
        #expect(try handled.currentResult?.get() == true)
        #expect(log.all == ["iq 0", "iq 1"])
    }

    @Test(
        "all, any, reduce: a closure that always throws is one for plain answers, and its error the outcome")
    func throwing() {
        panel.add([1])
        #expect(throws: Refusal()) { try delegates.any { _ in throw Refusal() }.currentResult?.get() }
        #expect(throws: Refusal()) { try delegates.all { _ in throw Refusal() }.currentResult?.get() }
        let reduced: Deferred<Int> = delegates.reduce(over: 1) { _, _ in throw Refusal() }
        #expect(throws: Refusal()) { try reduced.currentResult?.get() }
    }

    @Test("all, any concurrently: all are asked at once, and the first answer that decides is the result")
    func firstDecides() throws {
        let queues = (0..<3).map { _ in ManualDispatcher() }
        panel.add([1, 0, 1], each: queues)
        let all = delegates.all(asking: .concurrently) { try $0.answer("all") > 0 }
        let any = delegates.any(asking: .concurrently) { try $0.answer("any") > 0 }
        #expect(queues.map(\.count) == [2, 2, 2])
        queues[2].run()
        #expect(all.currentResult == nil)
        #expect(try any.currentResult?.get() == true)
        queues[1].run()
        #expect(try all.currentResult?.get() == false)
        queues[0].run()
        #expect(log.all == ["all 1", "any 1", "all 0"], "nobody is asked once it is decided")
    }

    @Test("all concurrently: the first error fails it; later ones are not reported, promises are cancelled")
    func concurrentFailure() {
        panel.add([0, 1, 2])
        let (promise, resolver) = Deferred<Bool>.withResolver()
        let failing = Deferred<Bool>()
        let reports = SharedLog<String>()
        DeferredDiagnostics.withHandler({ reports.add("\($0)") }) {
            let result = delegates.all(asking: .concurrently) { delegate -> Deferred<Bool> in
                switch try delegate.answer("q") {
                case 0: promise
                case 1: failing
                default: throw Refusal(number: 2)
                }
            }
            #expect(throws: Refusal(number: 2)) { try result.currentResult?.get() }
            #expect(resolver.isCancelled)
            #expect(!failing.reject(Refusal(number: 1)))
        }
        #expect(reports.all.isEmpty)
    }

    @Test("first: the delegate that said yes, asked one after another or all at once; nil if none did")
    func first() throws {
        let expected = ObjectIdentifier(panel.add([0, 1, 1])[1])
        for order in [MulticastOrder.sequentially, .concurrently] {
            let plain = delegates.first(asking: order) { try $0.answer("q") > 0 }
            #expect(try successResult(of: plain).map { ObjectIdentifier($0) } == expected)
            let promised = delegates.first(asking: order) { Deferred.resolved(try $0.answer("q") > 0) }
            #expect(try successResult(of: promised).map { ObjectIdentifier($0) } == expected)
            let none = delegates.first(asking: order) { _ in false }
            #expect(try successResult(of: none).map { ObjectIdentifier($0) } == nil)
        }
        #expect(log.all.count == 8)
    }

    @Test("reduce(into:): every delegate adds to the result one after another, at once or on its queue")
    func into() throws {
        let queue = ManualDispatcher()
        panel.add([1, 2, 3, 4], each: [nil, queue, nil, queue])
        let digits = delegates.reduce(into: "") { digits, delegate in
            digits += String(try delegate.answer(digits))
        }
        queue.run()
        #expect(try digits.currentResult?.get() == "1234")
        #expect(log.all == [" 1", "1 2", "12 3", "123 4"])
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
        let queue = ManualDispatcher()
        panel.add([1, 1, 1, 1, 1], each: [nil, queue, nil, queue, queue])
        let counted = delegates.reduce(into: Counted()) { counted, _ in counted.change() }
        queue.run()
        #expect(try counted.currentResult?.get().copies == 0)
    }

    @Test("reduce(over:): a delegate may stop it with a result")
    func over() throws {
        panel.add([1, 2, 3, 4])
        let sum = delegates.reduce(over: 0) { sum, delegate -> MulticastStep<Int> in
            let answer = try delegate.answer("q")
            return sum + answer >= 3 ? .stop(sum + answer) : .next(sum + answer)
        }
        #expect(try sum.currentResult?.get() == 3)
        #expect(log.all == ["q 1", "q 2"])
    }
}
