import Deferred
import DeferredTesting
import TestSupport
import Testing

@testable import Multicast

/// Answers that are there, beside those that come later.
@Suite(.watchdog)
struct PresentAnswersTests {
    private let panel = Panel()
    private var delegates: MulticastDelegate<any AnsweringDelegate> { panel.delegates }

    @Test(
        "a delegate that has answered, one that answers later and one on a dispatcher are asked once each, and all waited for",
        arguments: QuestionForm.allCases, [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
    func mixed(form: QuestionForm, order: [Int]) throws {
        let queue = ManualDispatcher()
        let promise = Deferred<Bool>()
        let places: [(any Dispatcher)?] = [nil, nil, queue]
        panel.add(order.map { $0 + 1 }, each: order.map { places[$0] })
        let result = form.ask(delegates) { delegate in
            let number = try delegate.answer("q")
            panel.log.add("asked \(number)")
            return true
        } promising: { _ in
            panel.log.all.last == "asked 2" ? promise : .resolved(true)
        }
        #expect(result.currentResult == nil)
        queue.run()
        promise.resolve(true)
        queue.run()
        #expect(try result.currentResult?.get() == true)
        #expect(panel.log.all.filter { $0.hasPrefix("q") }.sorted() == ["q 1", "q 2", "q 3"])
    }

    @Test(
        "a delegate that is removed by the one before it is not asked", arguments: QuestionForm.allCases)
    func removedMeanwhile(form: QuestionForm) throws {
        let all = panel.add([1, 0, 1])
        let result = form.ask(delegates) { [delegates] delegate in
            delegates.remove(all[1])
            return try delegate.answer("q") > 0
        }
        #expect(try result.currentResult?.get() == true)
        #expect(panel.log.all == ["q 1", "q 1"])
    }

    @Test(
        "one that throws fails it at once, while another is awaited on its dispatcher: that is called only if all are asked",
        arguments: QuestionForm.allCases)
    func throwing(form: QuestionForm) {
        let queue = ManualDispatcher()
        panel.add([0, 1], each: [nil, queue])
        let result = form.ask(delegates) { delegate in
            if try delegate.answer("q") == 0 { throw Refusal() }
            return true
        }
        #expect(throws: Refusal()) { try result.currentResult?.get() }
        queue.run()
        #expect(panel.log.all == (form.asksAll ? ["q 0", "q 1"] : ["q 0"]))
    }

    @Test("a delegate may ask again within its call", arguments: QuestionForm.allCases)
    func asksAgain(form: QuestionForm) throws {
        panel.add([1, 1])
        let result = form.ask(delegates) { [delegates] delegate in
            let inner = form.ask(delegates) { try $0.answer("inner") > 0 }
            return try inner.currentResult?.get() == true && delegate.answer("outer") > 0
        }
        #expect(try result.currentResult?.get() == true)
        let round = ["inner 1", "inner 1", "outer 1"]
        #expect(panel.log.all == round + round)
    }

    @Test("first concurrently: the first promise to say yes is the choice, and the others are cancelled")
    func firstPromise() throws {
        let all = panel.add([1, 2, 3])
        let promises = (0..<3).map { _ in Deferred<Bool>.withResolver() }
        let first = delegates.first(asking: .concurrently) { promises[try $0.answer("q") - 1].deferred }
        promises[0].resolver.resolve(false)
        #expect(first.currentResult == nil)
        promises[1].resolver.resolve(true)
        #expect(try successResult(of: first).map { ObjectIdentifier($0) } == ObjectIdentifier(all[1]))
        #expect(promises.map(\.resolver.isCancelled) == [false, false, true])
    }

    @Test("first concurrently: a delegate that answers on its queue during the call of another is first")
    func arrivesMeanwhile() throws {
        let queue = ManualDispatcher()
        let all = panel.add([1, 2, 3], each: [nil, queue, nil])
        let first = delegates.first(asking: .concurrently) { delegate in
            if try delegate.answer("q") == 1 { queue.run() }
            return true
        }
        #expect(try successResult(of: first).map { ObjectIdentifier($0) } == ObjectIdentifier(all[1]))
        #expect(panel.log.all == ["q 1", "q 2"])
    }

    @Test("collect: of two errors the one that came first is the failure, and the other is reported")
    func firstError() {
        let queue = ManualDispatcher()
        let reports = SharedLog<Refusal?>()
        panel.add([1, 2], each: [nil, queue])
        DeferredDiagnostics.withHandler({ diagnostic in
            if case .unhandledFailure(let error, _) = diagnostic { reports.add(error as? Refusal) }
        }) {
            let answers = delegates.collect { delegate -> Int in
                let number = try delegate.answer("q")
                if number == 1 { queue.run() }
                throw Refusal(number: number)
            }
            #expect(throws: Refusal(number: 2)) { try answers.currentResult?.get() }
        }
        #expect(reports.all == [Refusal(number: 1)])
    }

    @Test("U1: after an error, collect reports the failure of another promise, and not its abandonment")
    func promiseAfterError() {
        let reports = SharedLog<Refusal?>()
        panel.add([1, 2, 3])
        let failing = Deferred<Int>()
        DeferredDiagnostics.withHandler({ diagnostic in
            if case .unhandledFailure(let error, _) = diagnostic { reports.add(error as? Refusal) }
        }) {
            let answers = delegates.collectDeferred { delegate -> Deferred<Int> in
                switch try delegate.answer("q") {
                case 1: throw Refusal(number: 1)
                case 2: return failing
                default: return Deferred()
                }
            }
            #expect(throws: Refusal(number: 1)) { try answers.currentResult?.get() }
            #expect(failing.reject(Refusal(number: 2)))
        }
        #expect(reports.all == [Refusal(number: 2)])
    }

    @Test("X2: a question carries the values of its call to each delegate", arguments: QuestionForm.allCases)
    func carried(form: QuestionForm) throws {
        let queue = ManualDispatcher()
        panel.add([1, 1], each: [nil, queue])
        let probe = TaskLocalProbe()
        let result = TaskLocalProbe.with("caller") { form.ask(delegates) { _ in probe.noting(true) } }
        queue.run()
        #expect(try result.currentResult?.get() == true)
        #expect(probe.all.map(\.carried) == ["caller", "caller"])
    }

    @Test(
        "F6: many questions, each the answer to the next, end without stack",
        arguments: [QuestionForm.allPromised, .allPromisedAtOnce, .collectDeferred, .reduceDeferred])
    func nested(form: QuestionForm) throws {
        panel.add([1])
        let source = Deferred<Bool>()
        var last = source
        for _ in 0..<min(Extent.depth, 100_000) {
            let before = last
            last = form.ask(delegates, promising: { _ in before })
        }
        source.resolve(true)
        #expect(try last.currentResult?.get() == true)
    }
}
