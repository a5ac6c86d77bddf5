import Deferred
import TestThreads
import Testing

/// Sources that begin to follow while they are fired or cancelled, and rings that close from two sides.
@Suite("Torture: following and nesting", .serialized, .ownThreads)
struct FollowingRaces {
    private struct State: Sendable {
        let source: Deferred<Int>
        let other: Deferred<Int>
        let cancels: Counter
    }

    private static func state(_ census: Census) -> State {
        let cancels = Counter()
        let member = census.member()
        let other = Deferred<Int>(canceller: { _ in
            member.touch()
            cancels.add()
        })
        return State(source: Deferred<Int>(), other: other, cancels: cancels)
    }

    @Test("C3, C5: a cancel while a source begins to follow is not lost")
    func followAndCancel() {
        let census = Census()
        Race {
            Self.state(census)
        }.racing(
            { $0.source.follow($0.other) }, { $0.source.cancel() }
        ).check { state in
            #expect(Outcome(state.source.currentResult) == .failure(.cancelled))
        }
        #expect(census.alive == 0)
    }

    @Test("C3: a source that is fired while it begins to follow is no consumer of the other")
    func followAndFire() {
        let census = Census()
        Race {
            Self.state(census)
        }.racing(
            { $0.source.follow($0.other) }, { $0.source.resolve(1) }
        ).check { state in
            #expect(Outcome(state.source.currentResult) == .value(.number(1)))
            let last = state.other.then { $0 }
            last.cancel()
            #expect(state.cancels.value == 1)
            #expect(Outcome(last.currentResult) == .failure(.cancelled))
        }
        #expect(census.alive == 0)
    }

    @Test("F1: a source that is fired by hand while what it follows fires has one outcome")
    func followAndBothFire() {
        let census = Census()
        Race {
            Self.state(census)
        }.racing(
            { $0.source.follow($0.other) }, { $0.source.resolve(1) }, { $0.other.resolve(2) }
        ).check { state in
            let outcome = Outcome(state.source.currentResult)
            #expect(outcome == .value(.number(1)) || outcome == .value(.number(2)))
        }
        #expect(census.alive == 0)
    }

    @Test("L5: a ring that two threads close together fails with cycle, and leaves nothing behind")
    func ringOfTwo() {
        let census = Census()
        Race {
            Ring(2, census)
        }.racing(
            { $0.sources[0].resolve(0) }, { $0.sources[1].resolve(1) }
        ).check { ring in
            ring.expectCycle()
        }
        #expect(census.alive == 0)
    }

    @Test("L5: a ring that three threads close together fails with cycle, and leaves nothing behind")
    func ringOfThree() {
        let census = Census()
        Race {
            Ring(3, census)
        }.racing(
            { $0.sources[0].resolve(0) }, { $0.sources[1].resolve(1) }, { $0.sources[2].resolve(2) }
        ).check { ring in
            ring.expectCycle()
        }
        #expect(census.alive == 0)
    }

    /// Links whose callbacks give the next one, the last one's the first.
    private final class Ring: Sendable {
        let sources: [Deferred<Int>]
        private let slots: [Slot<Deferred<Int>>]

        init(_ count: Int, _ census: Census) {
            sources = (0..<count).map { _ in Deferred<Int>() }
            slots = sources.map { _ in Slot<Deferred<Int>>(nil) }
            for (index, source) in sources.enumerated() {
                let next = slots[(index + 1) % count]
                let member = census.member()
                slots[index].put(
                    source.then { _ -> Deferred<Int> in
                        member.touch()
                        return next.now ?? .rejected(TestError(number: 0))
                    }.then { $0 })
            }
        }

        func expectCycle() {
            for slot in slots {
                #expect(Outcome(slot.take()?.currentResult) == .failure(.cycle))
            }
        }
    }

    @Test("L6, C4: an endless asynchronous recursion is ended by a cancel, whichever step it meets")
    func cancelRecursion() {
        final class Loop: Sendable {
            let step = Slot<Resolver<Void>>(nil)
            let end = Slot<Deferred<Void>>(nil)
            let census: Census

            init(_ census: Census) { self.census = census }

            func next() -> Deferred<Void> {
                let (deferred, resolver) = Deferred<Void>.withResolver()
                step.put(resolver)
                let member = census.member()
                return deferred.then { [self] () -> Deferred<Void> in
                    member.touch()
                    return next()
                }
            }
        }
        let census = Census()
        Race {
            let loop = Loop(census)
            loop.end.put(loop.next())
            return loop
        }.racing(
            { loop in
                while let step = loop.step.now, step.resolve() {}
            },
            { loop in loop.end.now?.cancel() }
        ).check { loop in
            let end = loop.end.take()
            loop.step.drop()
            #expect(throws: CancellationError.self) { try end?.currentResult?.get() }
            #expect(end?.currentResult != nil)
        }
        #expect(census.alive == 0)
    }
}
