import Deferred
import TestThreads
import Testing

/// Threads that pause and unpause what others fire and attach to.
@Suite("Torture: pausing", .serialized, .ownThreads)
struct PausingRaces {
    private struct State: Sendable {
        let deferred = Deferred<Int>()
        let notes = Chronicle<Int>()
        let told = Counter()

        func attach(_ index: Int, _ member: Census.Member) {
            let (notes, told) = (notes, told)
            deferred.then { _ in
                member.touch()
                told.add()
                notes.add(index)
            }
        }
    }

    @Test("P1: paused and unpaused while it fires and is attached to, it tells each once and in order")
    func pauseWhileFiring() {
        let census = Census()
        let pause: @Sendable (State) -> Void = { state in
            for _ in 0..<20 {
                state.deferred.pause()
                state.deferred.unpause()
            }
        }
        Race { () -> State in
            let state = State()
            for index in 0..<10 { state.attach(index, census.member()) }
            return state
        }.racing(
            { $0.deferred.resolve(1) }, pause, pause,
            { state in for index in 10..<30 { state.attach(index, census.member()) } }
        ).check { state in
            #expect(state.notes.all == Array(0..<30))
        }
        #expect(census.alive == 0)
    }

    @Test("P1: between pause and unpause no callback begins but the one that was about to")
    func noneWhilePaused() {
        Race { () -> State in
            let state = State()
            let census = Census()
            for index in 0..<30 { state.attach(index, census.member()) }
            return state
        }.racing(
            { $0.deferred.resolve(1) },
            { state in
                for _ in 0..<10 {
                    state.deferred.pause()
                    let before = state.told.value
                    for _ in 0..<50 { _ = state.told.value }
                    let after = state.told.value
                    state.deferred.unpause()
                    #expect(after - before <= 1)
                }
            }
        ).check { state in
            #expect(state.notes.all == Array(0..<30))
        }
    }

    @Test("P1: the last handle of a paused Deferred goes while it is fired: those who wait are told once")
    func lastHandle() {
        struct Handles: Sendable {
            let deferred: Slot<Deferred<Int>>
            let resolver: Slot<Resolver<Int>>
            let notes: Chronicle<Int>
        }
        let census = Census()
        Race { () -> Handles in
            let (deferred, resolver) = Deferred<Int>.withResolver()
            let notes = Chronicle<Int>()
            let member = census.member()
            deferred.pause()
            for index in 0..<4 {
                deferred.both { _ in
                    member.touch()
                    notes.add(index)
                }
            }
            return Handles(deferred: Slot(deferred), resolver: Slot(resolver), notes: notes)
        }.racing(
            { $0.deferred.drop() }, { $0.resolver.take()?.resolve(1) }
        ).check { handles in
            #expect(handles.notes.all == [0, 1, 2, 3])
        }
        #expect(census.alive == 0)
    }
}
