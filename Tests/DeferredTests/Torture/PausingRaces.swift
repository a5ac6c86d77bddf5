import Deferred
import TestSupport
import Testing

/// Threads that pause and unpause Deferreds while others complete them and attach to them.
@Suite("Torture: pausing", .serialized, .ownThreads)
struct PausingRaces {
    private struct State: Sendable {
        let deferred = Deferred<Int>()
        let notes = SharedLog<Int>()
        let received = AtomicCounter()

        func attach(_ index: Int, _ tracked: LeakTracker.Tracked) {
            let (notes, received) = (notes, received)
            deferred.done { _ in
                tracked.use()
                received.add()
                notes.add(index)
            }
        }
    }

    @Test("P1: paused and unpaused while it is completed and attached to, it notifies each once and in order")
    func pauseWhileFiring() {
        let tracker = LeakTracker()
        let pause: @Sendable (State) -> Void = { state in
            for _ in 0..<20 {
                state.deferred.pause()
                state.deferred.unpause()
            }
        }
        Race { () -> State in
            let state = State()
            for index in 0..<10 { state.attach(index, tracker.begin()) }
            return state
        }.racing(
            { $0.deferred.resolve(1) }, pause, pause,
            { state in for index in 10..<30 { state.attach(index, tracker.begin()) } }
        ).check { state in
            #expect(state.notes.all == Array(0..<30))
        }
        #expect(tracker.alive == 0)
    }

    @Test("P1: between pause and unpause no callback begins but the one that was about to")
    func noneWhilePaused() {
        Race { () -> State in
            let state = State()
            let tracker = LeakTracker()
            for index in 0..<30 { state.attach(index, tracker.begin()) }
            return state
        }.racing(
            { $0.deferred.resolve(1) },
            { state in
                for _ in 0..<10 {
                    state.deferred.pause()
                    let before = state.received.value
                    for _ in 0..<50 { _ = state.received.value }
                    let after = state.received.value
                    state.deferred.unpause()
                    #expect(after - before <= 1)
                }
            }
        ).check { state in
            #expect(state.notes.all == Array(0..<30))
        }
    }

    @Test(
        "P1: the last handle of a paused Deferred is released while it is completed: its consumers are notified once"
    )
    func lastHandle() {
        struct Handles: Sendable {
            let deferred: Slot<Deferred<Int>>
            let resolver: Slot<Resolver<Int>>
            let notes: SharedLog<Int>
        }
        let tracker = LeakTracker()
        Race { () -> Handles in
            let (deferred, resolver) = Deferred<Int>.withResolver()
            let notes = SharedLog<Int>()
            let tracked = tracker.begin()
            deferred.pause()
            for index in 0..<4 {
                deferred.both { _ in
                    tracked.use()
                    notes.add(index)
                }
            }
            return Handles(deferred: Slot(deferred), resolver: Slot(resolver), notes: notes)
        }.racing(
            { $0.deferred.drop() }, { $0.resolver.take()?.resolve(1) }
        ).check { handles in
            #expect(handles.notes.all == [0, 1, 2, 3])
        }
        #expect(tracker.alive == 0)
    }
}
