import Deferred
import Foundation
import TestThreads
import Testing

/// Lists whose inputs fire, fail and are cancelled at once.
@Suite("Torture: lists", .serialized, .ownThreads)
struct ListRaces {
    private struct State<Result: Sendable>: Sendable {
        let inputs: [Deferred<Int>]
        let cancels: [Counter]
        let list: Deferred<Result>
        let told: Counter
    }

    private func state<Result: Sendable>(
        _ count: Int, _ census: Census, _ make: ([Deferred<Int>]) -> Deferred<Result>
    ) -> State<Result> {
        let cancels = (0..<count).map { _ in Counter() }
        let inputs = cancels.map { cancels in
            let member = census.member()
            return Deferred<Int>(canceller: { _ in
                member.touch()
                cancels.add()
            })
        }
        let told = Counter()
        let list = make(inputs)
        list.both { _ in _ = told.add() }
        return State(inputs: inputs, cancels: cancels, list: list, told: told)
    }

    @Test("D1: results of inputs that fire at once stand in input order, and come once")
    func results() throws {
        let census = Census()
        Race {
            state(4, census) { DeferredList($0 + [$0[0]]).values() }
        }.racing(
            {
                $0.inputs[0].resolve(0)
                $0.inputs[3].resolve(3)
            }, { $0.inputs[1].resolve(1) }, { $0.inputs[2].resolve(2) }
        ).check { state in
            #expect((try? state.list.currentResult?.get()) == [0, 1, 2, 3, 0])
            #expect(state.told.value == 1)
        }
        #expect(census.alive == 0)
    }

    @Test("D2, D3: of several first values one counts, and the inputs that remain are cancelled")
    func first() {
        let census = Census()
        Race {
            state(4, census) { DeferredList($0, cancelsRemaining: true).first() }
        }.racing(
            { $0.inputs[1].resolve(1) }, { $0.inputs[2].resolve(2) }
        ).check { state in
            #expect(state.told.value == 1)
            let index = try? state.list.currentResult?.get().index
            #expect(index == 1 || index == 2)
            #expect(state.cancels[0].value == 1)
            #expect(state.cancels[3].value == 1)
            #expect(state.inputs.allSatisfy { $0.currentResult != nil })
        }
        #expect(census.alive == 0)
    }

    @Test(
        "D4: a list cancelled while an input decides it cancels what is pending if it fails with the cancel")
    func cancelAndDecide() {
        let census = Census()
        Race {
            state(2, census) { DeferredList($0).values() }
        }.racing(
            { $0.inputs[0].reject(TestError(number: 1)) }, { $0.list.cancel() }
        ).check { state in
            #expect(state.told.value == 1)
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
        #expect(census.alive == 0)
    }

    @Test("D4: two lists over the same inputs, both cancelled at once, cancel each input once")
    func twoLists() {
        let census = Census()
        Race {
            state(3, census) { inputs -> Deferred<Void> in
                let other = DeferredList(inputs + inputs).results()
                return DeferredList(inputs).results().both { _ in _ = other }
            }
        }.racing(
            { $0.list.cancel() }, { $0.list.cancel() }
        ).check { state in
            #expect(state.told.value == 1)
            #expect(state.cancels.allSatisfy { $0.value == 0 })
            DeferredList(state.inputs).cancel()
            #expect(state.cancels.allSatisfy { $0.value == 1 })
        }
        #expect(census.alive == 0)
    }

    @Test("D5: of a list with a limit no more are under way than that, and each begins once")
    func limit() {
        final class Work: Sendable {
            let begun = Chronicle<Int>()
            let most = Chronicle<Int>()
            private let waiting = Guarded<[(Int, Resolver<Int>)]>([])
            private let ended = Counter()

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
            let told = Chronicle<[Int]>()
        }
        Race(rounds: Torture.rounds / 4) {
            let state = State()
            let (work, told) = (state.work, state.told)
            DeferredList(0..<12, limit: 3) { work.begin($0) }.values().then { told.add($0) }
            return state
        }.racing(
            { $0.work.fireAll() }, { $0.work.fireAll() }
        ).check { state in
            #expect(state.told.all == [Array(0..<12)])
            #expect(state.work.begun.all.sorted() == Array(0..<12))
            #expect(state.work.most.all.allSatisfy { $0 <= 3 })
        }
    }
}
