import Deferred
import TestThreads
import Testing

/// Threads that fire, attach and let go at once.
@Suite("Torture: firing", .serialized, .ownThreads)
struct FiringRaces {
    @Test("F1: of many results at once one counts, and each of the others is reported")
    func manyResults() {
        struct State: Sendable {
            let deferred = Deferred<Int>()
            let won = Counter()
            let told = Counter()
            let reports = Counter()
        }
        let fire: @Sendable (State) -> Void = { state in
            DeferredDiagnostics.withHandler({ _ in state.reports.add() }) {
                if state.deferred.resolve(1) { state.won.add() }
                if state.deferred.reject(TestError(number: 1)) { state.won.add() }
            }
        }
        Race { () -> State in
            let state = State()
            let told = state.told
            state.deferred.both { _ in _ = told.add() }
            return state
        }.racing(fire, fire, fire).check { state in
            #expect(state.won.value == 1)
            #expect(state.told.value == 1)
            #expect(state.reports.value == 5)
        }
    }

    @Test(
        "F4: callbacks attached while it fires each run once, one at a time, in each thread's order, before what follows"
    )
    func attachWhileFiring() {
        struct State: Sendable {
            let deferred = Deferred<Int>()
            let notes = Chronicle<(thread: Int, index: Int)>()
            let running = Counter()
            let ended = Counter()
        }
        let census = Census()
        @Sendable func attach(_ thread: Int, _ state: State) {
            for index in 0..<10 {
                let (notes, running, ended, member) = (
                    state.notes, state.running, state.ended, census.member()
                )
                state.deferred
                    .then { value -> Int in
                        member.touch()
                        #expect(value == 1)
                        #expect(running.add() == ended.value + 1)
                        notes.add((thread, index))
                        ended.add()
                        return value
                    }
                    .then { _ in notes.add((thread, index + 100)) }
            }
        }
        Race { () -> State in
            let state = State()
            attach(0, state)
            return state
        }.racing(
            { $0.deferred.resolve(1) }, { attach(1, $0) }, { attach(2, $0) }
        ).check { state in
            let notes = state.notes.all
            #expect(notes.count == 60)
            for thread in 0..<3 {
                let order = notes.filter { $0.thread == thread && $0.index < 100 }.map(\.index)
                #expect(order == Array(0..<10))
            }
            // Of those attached while it fires, what follows from one may have run, on the attaching thread,
            // before what follows from an earlier one comes to its turn on the firing thread.
            #expect(notes.filter { $0.thread == 0 && $0.index >= 100 }.map(\.index) == Array(100..<110))
            // Those attached before it fired all come before what follows from any.
            let last = notes.lastIndex { $0.thread == 0 && $0.index < 100 } ?? 0
            let firstBelow = notes.firstIndex { $0.index >= 100 } ?? 0
            #expect(last < firstBelow)
        }
        #expect(census.alive == 0)
    }

    @Test("A1: when the last handles go on several threads it is abandoned once, and what waits is told")
    func lastHandles() {
        struct State: Sendable {
            let handles: [Slot<Deferred<Int>>]
            let told: Chronicle<Outcome>
        }
        let census = Census()
        Race { () -> State in
            let member = census.member()
            let deferred = Deferred<Int>(canceller: { _ in member.touch() })
            let told = Chronicle<Outcome>()
            deferred.both { result in
                member.touch()
                told.add(Outcome(result))
            }
            return State(handles: (0..<3).map { _ in Slot(deferred) }, told: told)
        }.racing(
            { $0.handles[0].drop() }, { $0.handles[1].drop() }, { $0.handles[2].drop() }
        ).check { state in
            #expect(state.told.all == [.failure(.abandoned)])
        }
        #expect(census.alive == 0)
    }

    @Test("A1, C3: the last handle goes while what waits is cancelled: that ends once, with either")
    func lastHandleAndCancel() {
        struct State: Sendable {
            let handle: Slot<Deferred<Int>>
            let positions: [Deferred<Void>]
            let told: Chronicle<Outcome>
        }
        let census = Census()
        Race { () -> State in
            let member = census.member()
            let deferred = Deferred<Int>(canceller: { _ in member.touch() })
            let told = Chronicle<Outcome>()
            let positions = (0..<2).map { _ in
                deferred.both { result in
                    member.touch()
                    told.add(Outcome(result))
                }
            }
            return State(handle: Slot(deferred), positions: positions, told: told)
        }.racing(
            { $0.handle.drop() }, { $0.positions[0].cancel() }, { $0.positions[1].cancel() }
        ).check { state in
            let told = state.told.all
            #expect(told.count == 2)
            #expect(told.allSatisfy { [.failure(.abandoned), .failure(.cancelled)].contains($0) })
        }
        #expect(census.alive == 0)
    }

    @Test("U1: a failure whose last handles go on several threads is reported once")
    func reportOnce() {
        let reports = Counter()
        @Sendable func drop(_ slot: Slot<Deferred<Int>>) {
            DeferredDiagnostics.withHandler({ _ in reports.add() }) { slot.drop() }
        }
        Race {
            let deferred = Deferred<Int>.rejected(TestError(number: 1))
            return (0..<3).map { _ in Slot(deferred) }
        }.racing(
            { drop($0[0]) }, { drop($0[1]) }, { drop($0[2]) }
        ).check { _ in
        }
        #expect(reports.value == Torture.rounds)
    }
}
