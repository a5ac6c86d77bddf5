import Deferred
import TestSupport
import Testing

/// Threads that complete and attach at once.
@Suite("Torture: firing", .serialized, .ownThreads)
struct FiringRaces {
    @Test("F1: of many results at once one counts, and each of the others is reported")
    func manyResults() {
        struct State: Sendable {
            let deferred = Deferred<Int>()
            let won = AtomicCounter()
            let received = AtomicCounter()
            let reports = AtomicCounter()
        }
        let fire: @Sendable (State) -> Void = { state in
            DeferredDiagnostics.withHandler({ _ in state.reports.add() }) {
                if state.deferred.resolve(1) { state.won.add() }
                if state.deferred.reject(TestError(number: 1)) { state.won.add() }
            }
        }
        Race { () -> State in
            let state = State()
            let received = state.received
            state.deferred.both { _ in _ = received.add() }
            return state
        }.racing(fire, fire, fire).check { state in
            #expect(state.won.value == 1)
            #expect(state.received.value == 1)
            #expect(state.reports.value == 5)
        }
    }

    @Test(
        "F4: callbacks attached while it fires each run once, one at a time, in each thread's order, before what follows"
    )
    func attachWhileFiring() {
        struct State: Sendable {
            let deferred = Deferred<Int>()
            let notes = SharedLog<(thread: Int, index: Int)>()
            let running = AtomicCounter()
            let ended = AtomicCounter()
        }
        let tracker = LeakTracker()
        @Sendable func attach(_ thread: Int, _ state: State) {
            for index in 0..<10 {
                let (notes, running, ended, tracked) = (
                    state.notes, state.running, state.ended, tracker.begin()
                )
                state.deferred
                    .map { value -> Int in
                        tracked.use()
                        #expect(value == 1)
                        #expect(running.add() == ended.value + 1)
                        notes.add((thread, index))
                        ended.add()
                        return value
                    }
                    .done { _ in notes.add((thread, index + 100)) }
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
            // Of the callbacks attached during the completion, the consumers of one may have run, on the
            // attaching thread, before those of an earlier one are dequeued on the completing thread.
            #expect(notes.filter { $0.thread == 0 && $0.index >= 100 }.map(\.index) == Array(100..<110))
            // Those attached before the completion all run before any that they cause.
            let last = notes.lastIndex { $0.thread == 0 && $0.index < 100 } ?? 0
            let firstBelow = notes.firstIndex { $0.index >= 100 } ?? 0
            #expect(last < firstBelow)
        }
        #expect(tracker.alive == 0)
    }
}
