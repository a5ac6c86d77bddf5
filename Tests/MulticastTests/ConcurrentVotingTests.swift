import Deferred
import DeferredTesting
import TestSupport
import Testing

@testable import Multicast

@Suite(.timeLimit(.minutes(5)))
struct ConcurrentVotingTests {
    private let delegates = MulticastDelegate<any AnsweringDelegate>()
    private let log = SharedLog<String>()

    @Test("all, any concurrently: all are asked at once, and the first answer that decides is the result")
    func firstDecides() throws {
        let answerers = [1, 0, 1].map { LoggingAnswerer(log, $0) }
        let queues = answerers.map { _ in HeldDispatcher() }
        for (answerer, queue) in zip(answerers, queues) { delegates.add(answerer, on: queue) }
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
        withExtendedLifetime(answerers) {}
    }

    @Test("all, any concurrently: if nobody decides, the last answer settles it")
    func nobodyDecides() throws {
        let answerers = [1, 1].map { LoggingAnswerer(log, $0) }
        let queue = HeldDispatcher()
        delegates.add(answerers[0], on: queue)
        delegates.add(answerers[1], on: nil)
        let all = delegates.all(asking: .concurrently) { try $0.answer("q") > 0 }
        let any = delegates.any(asking: .concurrently) { try $0.answer("q") == 0 }
        queue.run()
        #expect(try all.currentResult?.get() == true)
        #expect(try any.currentResult?.get() == false)
        withExtendedLifetime(answerers) {}
    }

    @Test("all, any concurrently: without delegates, all agree and none does")
    func nobody() throws {
        #expect(try delegates.all(asking: .concurrently) { _ in false }.currentResult?.get() == true)
        #expect(try delegates.any(asking: .concurrently) { _ in true }.currentResult?.get() == false)
    }

    @Test("all concurrently: the first error fails it; later ones are not reported, promises are cancelled")
    func failure() {
        let answerers = (0..<3).map { LoggingAnswerer(log, $0) }
        for answerer in answerers { delegates.add(answerer, on: nil) }
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
        withExtendedLifetime(answerers) {}
    }

    @Test("all concurrently: cancelled, it asks nobody else and cancels what was promised")
    func cancelled() {
        let answerers = (0..<2).map { LoggingAnswerer(log, $0) }
        let queue = HeldDispatcher()
        delegates.add(answerers[0], on: nil)
        delegates.add(answerers[1], on: queue)
        let (promise, resolver) = Deferred<Bool>.withResolver()
        let result = delegates.all(asking: .concurrently) { delegate -> Deferred<Bool> in
            _ = try delegate.answer("q")
            return promise
        }
        result.cancel()
        queue.run()
        #expect(resolver.isCancelled)
        #expect(throws: CancellationError.self) { try result.currentResult?.get() }
        #expect(log.all == ["q 0"])
        withExtendedLifetime(answerers) {}
    }

    @Test("first: the delegate that said yes, asked one after another or all at once; nil if none did")
    func first() throws {
        let answerers = [0, 1, 1].map { LoggingAnswerer(log, $0) }
        for answerer in answerers { delegates.add(answerer, on: nil) }
        let expected = ObjectIdentifier(answerers[1])
        for order in [AskingOrder.sequentially, .concurrently] {
            let plain = delegates.first(asking: order) { try $0.answer("q") > 0 }
            #expect(try successResult(of: plain).map { ObjectIdentifier($0) } == expected)
            let promised = delegates.first(asking: order) { Deferred.resolved(try $0.answer("q") > 0) }
            #expect(try successResult(of: promised).map { ObjectIdentifier($0) } == expected)
            let none = delegates.first(asking: order) { _ in false }
            #expect(try successResult(of: none).map { ObjectIdentifier($0) } == nil)
        }
        #expect(log.all.count == 8)
        withExtendedLifetime(answerers) {}
    }
}
