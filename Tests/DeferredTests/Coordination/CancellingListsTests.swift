import Deferred
import TestSupport
import Testing

/// Jobs of a semaphore that a list cancels: the list is found however the jobs lead to it.
@Suite(.watchdog) struct CancellingListsTests {
    enum Way: CaseIterable {
        case direct, mapped, attachedLast, nestedBefore, nestedAfter, followedBefore, followedAfter, inLists
        case inLimitedLists, ofLimitedList, belowWaiting
    }

    private struct Refused: Error {}

    @Test(
        "C7: however jobs lead to a list that cancels what remains, none starts only to be cancelled",
        arguments: Way.allCases)
    func ways(_ way: Way) {
        let (semaphore, started) = (DeferredSemaphore(1), SharedLog<Int>())
        let first = Deferred<Int>()
        let result = outcome(way) { number in
            semaphore.run {
                started.add(number)
                return number == 0 ? first : .never()
            }
        }
        #expect(started.all == [0])
        first.reject(Refused())
        #expect(started.all == [0])
        #expect(result.isSettled)
        result.fail { _ in }
    }

    private func outcome(_ way: Way, _ job: @escaping @Sendable (Int) -> Deferred<Int>) -> Deferred<[Int]> {
        func all(_ inputs: [Deferred<Int>]) -> Deferred<[Int]> {
            DeferredList(inputs, cancelsRemaining: true).values()
        }
        switch way {
        case .direct: return all([job(0), job(1)])
        case .mapped: return all([job(0).map { $0 }.shielded().map { $0 }, job(1).map { $0 }])
        case .attachedLast:
            let (a, b) = (job(0), job(1))
            let users = [a, b].map { $0.map { $0 }.map { $0 } }
            return all(users.map { $0.map { $0 } })
        case .nestedBefore:
            let gate = Deferred<Void>()
            let result = all((0..<2).map { number in gate.then { job(number) } })
            gate.resolve()
            return result
        case .nestedAfter:
            let jobs = [job(0), job(1)]
            return all(jobs.map { job in Deferred.resolved(1).then { _ in job } })
        case .followedBefore:
            let sources = [Deferred<Int>(), Deferred<Int>()]
            let result = all(sources)
            for (number, source) in sources.enumerated() { source.follow(job(number)) }
            return result
        case .followedAfter:
            let sources = [Deferred<Int>(), Deferred<Int>()]
            for (number, source) in sources.enumerated() { source.follow(job(number)) }
            return all(sources)
        case .inLists: return all((0..<2).map { DeferredList([job($0)]).values().map { $0[0] } })
        case .inLimitedLists:
            return all(
                (0..<2).map { number in DeferredList([number], limit: 1) { job($0) }.values().map { $0[0] } })
        case .ofLimitedList:
            return DeferredList(0..<2, limit: 2, cancelsRemaining: true) { job($0) }.values()
        case .belowWaiting:
            // Lists that wait for what has yet to be made, whose inputs are added when it is.
            let gate = Deferred<Void>()
            let lists = (0..<2).map { number in
                DeferredList([number], limit: 1) { number in gate.then { job(number) } }.values().map {
                    $0[0]
                }
            }
            let result = all(lists.map { $0.map { $0 } })
            gate.resolve()
            return result
        }
    }

    @Test("Q1: after a list that cancels has left, a permit goes on before callbacks further down")
    func listHasLeft() {
        let (semaphore, log) = (DeferredSemaphore(1), SharedLog<String>())
        let first = Deferred<Int>()
        let a = semaphore.run { first }
        let b = semaphore.run {
            log.add("b")
            return Deferred.resolved(1)
        }
        let decided = DeferredList([a.map { $0 }, .resolved(2)], cancelsRemaining: false).first()
        let cancelled = DeferredList([a.map { $0 }], cancelsRemaining: true).values()
        cancelled.cancel()
        cancelled.fail { _ in }
        a.done { _ in log.add("a") }
        first.resolve(1)
        #expect(log.all == ["b", "a"])
        #expect(b.isSettled && decided.isSettled)
    }
}
