import Deferred
import Foundation
import TestSupport
import Testing

/// Lists whose inputs are resolved, rejected and cancelled at once.
@Suite("Torture: lists", .serialized, .ownThreads)
struct ListRaces {
    private struct State<Result: Sendable>: Sendable {
        let inputs: [Deferred<Int>]
        let cancels: [AtomicCounter]
        let list: Deferred<Result>
        let received: AtomicCounter
    }

    private func state<Result: Sendable>(
        _ count: Int, _ tracker: LeakTracker, _ make: ([Deferred<Int>]) -> Deferred<Result>
    ) -> State<Result> {
        let cancels = (0..<count).map { _ in AtomicCounter() }
        let inputs = cancels.map { cancels in
            let tracked = tracker.begin()
            return Deferred<Int>(canceller: { _ in
                tracked.use()
                cancels.add()
            })
        }
        let received = AtomicCounter()
        let list = make(inputs)
        list.both { _ in _ = received.add() }
        return State(inputs: inputs, cancels: cancels, list: list, received: received)
    }

    @Test("D1: results of inputs that fire at once stand in input order, and come once")
    func results() throws {
        let tracker = LeakTracker()
        Race {
            state(4, tracker) { DeferredList($0 + [$0[0]]).values() }
        }.racing(
            {
                $0.inputs[0].resolve(0)
                $0.inputs[3].resolve(3)
            }, { $0.inputs[1].resolve(1) }, { $0.inputs[2].resolve(2) }
        ).check { state in
            #expect((try? state.list.currentResult?.get()) == [0, 1, 2, 3, 0])
            #expect(state.received.value == 1)
        }
        #expect(tracker.alive == 0)
    }

    @Test("D2, D3: of several first values one counts, and the inputs that remain are cancelled")
    func first() {
        let tracker = LeakTracker()
        Race {
            state(4, tracker) { DeferredList($0, cancelsRemaining: true).first() }
        }.racing(
            { $0.inputs[1].resolve(1) }, { $0.inputs[2].resolve(2) }
        ).check { state in
            #expect(state.received.value == 1)
            let index = try? state.list.currentResult?.get().index
            #expect(index == 1 || index == 2)
            #expect(state.cancels[0].value == 1)
            #expect(state.cancels[3].value == 1)
            #expect(state.inputs.allSatisfy { $0.currentResult != nil })
        }
        #expect(tracker.alive == 0)
    }

    @Test(
        "D4: a list cancelled while an input decides it cancels what is pending if it fails with the cancel")
    func cancelAndDecide() {
        let tracker = LeakTracker()
        Race {
            state(2, tracker) { DeferredList($0).values() }
        }.racing(
            { $0.inputs[0].reject(TestError(number: 1)) }, { $0.list.cancel() }
        ).check { state in
            #expect(state.received.value == 1)
            switch state.list.currentResult {
            case .failure(let error) where error is CancellationError:
                #expect(state.cancels[1].value == 1)
            case .failure(let error):
                #expect(error as? TestError == TestError(number: 1))
                #expect(state.cancels[1].value == 0)
            case .success, nil:
                Issue.record("the list has no failure")
            }
        }
        #expect(tracker.alive == 0)
    }

    @Test("D4: two lists over the same inputs, both cancelled at once, cancel each input once")
    func twoLists() {
        let tracker = LeakTracker()
        Race {
            state(3, tracker) { inputs -> Deferred<Void> in
                let other = DeferredList(inputs + inputs).results()
                return DeferredList(inputs).results().both { _ in _ = other }
            }
        }.racing(
            { $0.list.cancel() }, { $0.list.cancel() }
        ).check { state in
            #expect(state.received.value == 1)
            #expect(state.cancels.allSatisfy { $0.value == 0 })
            DeferredList(state.inputs).cancel()
            #expect(state.cancels.allSatisfy { $0.value == 1 })
        }
        #expect(tracker.alive == 0)
    }

    @Test("D5: of a list with a limit no more inputs are in progress than that, and each begins once")
    func limit() {
        final class Work: Sendable {
            let begun = SharedLog<Int>()
            let most = SharedLog<Int>()
            private let waiting = SpinLocked<[(Int, Resolver<Int>)]>([])
            private let ended = AtomicCounter()

            func begin(_ index: Int) -> Deferred<Int> {
                begun.add(index)
                most.add(begun.all.count - ended.value)
                let (deferred, resolver) = Deferred<Int>.withResolver()
                waiting.withLock { $0.append((index, resolver)) }
                return deferred
            }

            func fireAll() {
                while ended.value < 12 {
                    guard let (index, resolver) = waiting.withLock({ $0.popLast() }) else {
                        sched_yield()
                        continue
                    }
                    ended.add()
                    resolver.resolve(index)
                }
            }
        }
        struct State: Sendable {
            let work = Work()
            let received = SharedLog<[Int]>()
        }
        Race(rounds: Torture.rounds / 4) {
            let state = State()
            let (work, received) = (state.work, state.received)
            DeferredList(0..<12, limit: 3) { work.begin($0) }.values().done { received.add($0) }
            return state
        }.racing(
            { $0.work.fireAll() }, { $0.work.fireAll() }
        ).check { state in
            #expect(state.received.all == [Array(0..<12)])
            #expect(state.work.begun.all.sorted() == Array(0..<12))
            #expect(state.work.most.all.allSatisfy { $0 <= 3 })
        }
    }
}
