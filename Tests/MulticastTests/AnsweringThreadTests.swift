import Deferred
import DeferredTesting
import Dispatch
import TestSupport
import Testing

@testable import Multicast

/// Where the delegates of a question are called, and its result if a dispatcher is released.
@Suite(.timeLimit(.minutes(5)))
struct AnsweringThreadTests {
    private let delegates = MulticastDelegate<any AnsweringDelegate>()
    private let log = SharedLog<String>()

    /// Runs its work on a queue of its own, and returns from `dispatch` when that is done.
    private final class WaitingDispatcher: Dispatcher {
        static let key = DispatchSpecificKey<String>()
        private let queue = DispatchQueue(label: "waiting")

        init(_ name: String) {
            queue.setSpecific(key: Self.key, value: name)
        }

        func dispatch(_ work: @escaping @Sendable () -> Void) {
            let done = DispatchSemaphore(value: 0)
            queue.async {
                work()
                done.signal()
            }
            expectSignal(done)
        }
    }

    private enum Question: CaseIterable {
        case all, any, reduceOver, reduceInto, first

        func ask(_ delegates: MulticastDelegate<any AnsweringDelegate>, _ number: Int) -> Deferred<Bool> {
            switch self {
            case .all: delegates.all { try $0.answer("q") == number }
            case .any: delegates.any { try $0.answer("q") != number }
            case .reduceOver:
                delegates.reduce(over: true) { result, delegate -> MulticastTurn<Bool> in
                    .next(try delegate.answer("q") == number && result)
                }
            case .reduceInto:
                delegates.reduce(into: true) { result, delegate in
                    result = try delegate.answer("q") == number && result
                }
            case .first:
                delegates.first { try $0.answer("q") != number }.map { $0 == nil }
            }
        }
    }

    @Test(
        "M1: a delegate without a dispatcher is called where the one before it answered, though that was before dispatch returned",
        arguments: Question.allCases)
    private func calledWhereAnswered(question: Question) {
        let answerers = (0..<3).map { _ in
            LoggingAnswerer(log) { [log] _ in
                log.add(DispatchQueue.getSpecific(key: WaitingDispatcher.key) ?? "the caller's thread")
                return 1
            }
        }
        delegates.add(answerers[0], on: WaitingDispatcher("first"))
        delegates.add(answerers[1], on: nil)
        delegates.add(answerers[2], on: WaitingDispatcher("third"))
        let result = question.ask(delegates, 1)
        #expect(result.currentResult != nil)
        #expect(log.all.filter { $0 != "q 1" } == ["first", "first", "third"])
        withExtendedLifetime(answerers) {}
    }

    /// A ``WaitingDispatcher`` that calls a closure before `dispatch` returns.
    private struct ObservedDispatcher: Dispatcher {
        let waiting: WaitingDispatcher
        let beforeReturning: @Sendable () -> Void

        func dispatch(_ work: @escaping @Sendable () -> Void) {
            waiting.dispatch(work)
            beforeReturning()
        }
    }

    private static var place: String {
        DispatchQueue.getSpecific(key: WaitingDispatcher.key) ?? "the caller's thread"
    }

    @Test(
        "M1: nobody is called on the asking thread though the next delegate is deallocated as dispatch returns",
        arguments: Question.allCases)
    private func nextIsDeallocated(question: Question) {
        let answerers = (0..<2).map { _ in
            LoggingAnswerer(log) { [log] _ in
                log.add(Self.place)
                return 1
            }
        }
        let next = SharedReference()
        next.held = LoggingAnswerer(log, 1)
        let first = ObservedDispatcher(waiting: WaitingDispatcher("first")) { next.held = nil }
        delegates.add(answerers[0], on: first)
        delegates.add(next.held as! LoggingAnswerer, on: WaitingDispatcher("next"))
        delegates.add(answerers[1], on: nil)
        let result = question.ask(delegates, 1)
        #expect(next.held == nil && result.currentResult != nil)
        #expect(log.all.filter { $0 != "q 1" } == ["first", "next"])
        withExtendedLifetime(answerers) {}
    }

    @Test("M1: what is attached while the last delegate is asked runs where it answers, also below a promise")
    func attachedRunsWhereAnswered() {
        let queue = HeldDispatcher()
        let answerers = (0..<2).map { LoggingAnswerer(log, $0) }
        delegates.add(answerers[0], on: nil)
        delegates.add(answerers[1], on: queue)
        let place = DispatchQueue(label: "place")
        place.setSpecific(key: WaitingDispatcher.key, value: "place")
        let results = [
            delegates.all { try $0.answer("all") >= 0 },
            delegates.all(asking: .concurrently) { try $0.answer("concurrently") >= 0 },
            delegates.all { Deferred.resolved(try $0.answer("promised") >= 0) },
            delegates.collect { try $0.answer("collect") }.map { $0 == [0, 1] },
            delegates.reduce(into: 0) { $0 += try $1.answer("reduce") }.map { $0 == 1 },
        ]
        for result in results {
            result.done { [log] isTrue in
                log.add(
                    "\(isTrue) on \(DispatchQueue.getSpecific(key: WaitingDispatcher.key) ?? "elsewhere")")
            }
        }
        place.sync { queue.run() }
        #expect(log.all.filter { $0.hasPrefix("true") } == Array(repeating: "true on place", count: 5))
        withExtendedLifetime(answerers) {}
    }

    @Test(
        "M1: dispatchers that run their work at once cost no stack, nor do promises that are kept already",
        arguments: [true, false])
    func deep(promised: Bool) throws {
        let answerer = LoggingAnswerer(SharedLog()) { _ in 1 }
        let dispatcher = InlineDispatcher()
        for _ in 0..<50_000 { delegates.add(answerer, on: promised ? nil : dispatcher) }
        let sum =
            promised
            ? delegates.reduceDeferred(over: 0) { sum, _ -> Deferred<MulticastTurn<Int>> in
                .resolved(.next(sum + 1))
            }
            : delegates.reduce(into: 0) { sum, _ in sum += 1 }
        #expect(try sum.currentResult?.get() == 50_000)
        withExtendedLifetime(answerer) {}
    }

    @Test(
        "P1: a promise that is paused is waited for, though its outcome can be seen",
        arguments: [true, false])
    func pausedPromise(sequentially: Bool) throws {
        let answerer = LoggingAnswerer(log, 1)
        delegates.add(answerer, on: nil)
        let promise = Deferred<Bool>.resolved(true)
        promise.pause()
        let result = delegates.all(asking: sequentially ? .sequentially : .concurrently) { _ in promise }
        #expect(result.currentResult == nil)
        promise.unpause()
        #expect(try result.currentResult?.get() == true)
        withExtendedLifetime(answerer) {}
    }

    @Test("A1: a dispatcher that is released with a question releases all, and the answer fails as abandoned")
    func releasedDispatcher() {
        let questions:
            [@Sendable (MulticastDelegate<any AnsweringDelegate>, ReleaseProbe) -> Deferred<Bool>] = [
                { delegates, witness in delegates.all { _ in withExtendedLifetime(witness) { true } } },
                { delegates, witness in delegates.any { _ in withExtendedLifetime(witness) { true } } },
                { delegates, witness in
                    delegates.all { _ in withExtendedLifetime(witness) { Deferred.resolved(true) } }
                },
                { delegates, witness in
                    delegates.all(asking: .concurrently) { _ in withExtendedLifetime(witness) { true } }
                },
                { delegates, witness in
                    delegates.reduce(over: true) { result, _ in
                        withExtendedLifetime(witness) { MulticastTurn.next(result) }
                    }
                },
                { delegates, witness in
                    delegates.reduce(into: true) { _, _ in withExtendedLifetime(witness) {} }
                },
                { delegates, witness in
                    delegates.collect { _ in withExtendedLifetime(witness) { 1 } }.map { !$0.isEmpty }
                },
            ]
        let answerers = (0..<3).map { LoggingAnswerer(log, $0) }
        for (index, question) in questions.enumerated() {
            let log = SharedLog<String>()
            weak var released: HeldDispatcher?
            let result: Deferred<Bool>
            do {
                let delegates = MulticastDelegate<any AnsweringDelegate>()
                let queue = HeldDispatcher()
                for answerer in answerers { delegates.add(answerer, on: queue) }
                result = question(delegates, ReleaseProbe(log))
                #expect(result.currentResult == nil)
                released = queue
            }
            #expect(released == nil, "question \(index)")
            #expect(log.all == ["released"], "question \(index)")
            guard case .failure(DeferredError.abandoned)? = result.currentResult else {
                Issue.record("question \(index): \(String(describing: result.currentResult))")
                continue
            }
        }
        withExtendedLifetime(answerers) {}
    }

    @Test("A1: a question outlives its MulticastDelegate as long as the dispatchers are retained")
    func questionOutlivesDelegates() throws {
        let queue = HeldDispatcher()
        let answerers = (1...3).map { LoggingAnswerer(log, $0) }
        let sum: Deferred<Int>
        do {
            let delegates = MulticastDelegate<any AnsweringDelegate>()
            for answerer in answerers { delegates.add(answerer, on: queue) }
            sum = delegates.reduce(into: 0) { $0 += try $1.answer("q") }
        }
        queue.run()
        #expect(try sum.currentResult?.get() == 6)
        withExtendedLifetime(answerers) {}
    }
}
