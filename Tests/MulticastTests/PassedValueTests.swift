import Deferred
import DeferredTesting
import Multicast
import TestSupport
import Testing

/// V1: an answer that a delegate promises is received or given back, once.
@Suite(.watchdog) struct PassedValueTests {
    private final class Promising: Sendable {
        let answer: Deferred<Int>
        init(_ answer: Deferred<Int>) { self.answer = answer }
    }

    private func ask(_ answers: [Deferred<Int>]) -> (MulticastDelegate<Promising>, [Promising]) {
        let delegates = MulticastDelegate<Promising>()
        let promising = answers.map { Promising($0) }
        for delegate in promising { delegates.add(delegate, on: nil) }
        return (delegates, promising)
    }

    private struct Refusal: Error {}

    @Test("V1: collectDeferred gives back an answer if another fails", arguments: ValueFate.allCases)
    func collected(_ fate: ValueFate) {
        for isSettledFirst in [false, true] {
            let other = Deferred<Int>()
            let count = fate.count(of: 5, isSettledFirst: isSettledFirst) { source in
                let (delegates, promising) = ask([source, other])
                return withExtendedLifetime(promising) { delegates.collectDeferred { $0.answer } }
            } _: {
                if !other.isSettled { other.reject(Refusal()) }
            }
            #expect(count == .init(received: 0, returned: 1))
        }
    }

    @Test(
        "V1: collectDeferred that fails, is cancelled or times out gives the answers back",
        arguments: [0, 1, 2])
    func failed(_ how: Int) {
        let returned = SharedLog<Int>()
        let clock = ManualClock()
        do {
            let (first, second, third) = (Deferred<Int>(), Deferred<Int>(), Deferred<Int>())
            let (delegates, promising) = ask([first, second, third])
            let answers = withExtendedLifetime(promising) { delegates.collectDeferred { $0.answer } }
            let limited = answers.timeout(.seconds(1), timer: clock)
            first.resolve(1, onUndelivered: returned.add)
            switch how {
            case 0: second.reject(Refusal())
            case 1: limited.cancel()
            default: clock.advance(by: .seconds(1))
            }
            third.resolve(3, onUndelivered: returned.add)
            limited.fail { _ in }
        }
        #expect(returned.all.sorted() == [1, 3])
    }

    @Test("V1: collectDeferred receives the answers that it is decided with")
    func decided() throws {
        let returned = SharedLog<Int>()
        do {
            let (first, second) = (Deferred<Int>(), Deferred<Int>())
            let (delegates, promising) = ask([first, second])
            let answers = withExtendedLifetime(promising) { delegates.collectDeferred { $0.answer } }
            first.resolve(1, onUndelivered: returned.add)
            second.resolve(2, onUndelivered: returned.add)
            #expect(try successResult(of: answers) == [1, 2])
        }
        #expect(returned.all.isEmpty)
    }

    @Test(
        "V1: reduceDeferred neither loses nor doubles a result that a delegate promises",
        arguments: ValueFate.allCases)
    func reduced(_ fate: ValueFate) {
        for (step, isSettledFirst) in [(MulticastStep.next(5), false), (.next(5), true), (.stop(5), false)] {
            let count = fate.count(of: step, isSettledFirst: isSettledFirst) { source in
                let (delegates, promising) = ask([.resolved(0)])
                return withExtendedLifetime(promising) {
                    delegates.reduceDeferred(over: 0) { _, _ in source }
                }
            }
            #expect(count.received + count.returned == 1)
            if let expected = fate.expected(isSettledFirst: isSettledFirst) { #expect(count == expected) }
        }
    }

    @Test("V1: the answer of one delegate, which the next one was not asked with, is given back")
    func between() {
        let returned = SharedLog<Int>()
        let busy = ManualDispatcher()
        do {
            let promise = Deferred<MulticastStep<Int>>()
            let delegates = MulticastDelegate<Promising>()
            let (first, second) = (Promising(.resolved(0)), Promising(.resolved(0)))
            delegates.add(first, on: nil)
            delegates.add(second, on: busy)
            let asked = SharedLog<Int>()
            let result = delegates.reduceDeferred(over: 0) { answer, delegate in
                asked.add(answer)
                return delegate === first ? promise : .resolved(.next(9))
            }
            promise.resolve(.next(5), onUndelivered: { _ in returned.add(5) })
            #expect(returned.all.isEmpty)
            result.cancel()
            busy.run()
            #expect(asked.all == [0])
            result.fail { _ in }
            withExtendedLifetime((first, second)) {}
        }
        #expect(returned.all == [5])
    }
}
