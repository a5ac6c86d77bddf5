import Deferred
import TestSupport
import Testing

/// Sources that begin to follow while they are completed or cancelled, and cycles that close from two sides.
@Suite("Torture: following and nesting", .serialized, .ownThreads)
struct FollowingRaces {
    private struct State: Sendable {
        let source: Deferred<Int>
        let other: Deferred<Int>
        let cancels: AtomicCounter
    }

    private static func state(_ tracker: LeakTracker) -> State {
        let cancels = AtomicCounter()
        let tracked = tracker.begin()
        let other = Deferred<Int>(canceller: { _ in
            tracked.use()
            cancels.add()
        })
        return State(source: Deferred<Int>(), other: other, cancels: cancels)
    }

    @Test("C3, C5: a cancel while a source begins to follow is not lost")
    func followAndCancel() {
        let tracker = LeakTracker()
        Race {
            Self.state(tracker)
        }.racing(
            { $0.source.follow($0.other) }, { $0.source.cancel() }
        ).check { state in
            #expect(ModelOutcome(state.source.currentResult) == .failure(.cancelled))
        }
        #expect(tracker.alive == 0)
    }

    @Test("C3: a source that is fired while it begins to follow is no consumer of the other")
    func followAndFire() {
        let tracker = LeakTracker()
        Race {
            Self.state(tracker)
        }.racing(
            { $0.source.follow($0.other) }, { $0.source.resolve(1) }
        ).check { state in
            #expect(ModelOutcome(state.source.currentResult) == .value(.number(1)))
            let last = state.other.map { $0 }
            last.cancel()
            #expect(state.cancels.value == 1)
            #expect(ModelOutcome(last.currentResult) == .failure(.cancelled))
        }
        #expect(tracker.alive == 0)
    }

    @Test("F1: a source that is completed explicitly while what it follows is settled has one outcome")
    func followAndBothFire() {
        let tracker = LeakTracker()
        Race {
            Self.state(tracker)
        }.racing(
            { $0.source.follow($0.other) }, { $0.source.resolve(1) }, { $0.other.resolve(2) }
        ).check { state in
            let outcome = ModelOutcome(state.source.currentResult)
            #expect(outcome == .value(.number(1)) || outcome == .value(.number(2)))
        }
        #expect(tracker.alive == 0)
    }

    @Test("L5: a cycle that two threads close together fails with .cycle, and leaks nothing")
    func ringOfTwo() {
        let tracker = LeakTracker()
        Race {
            Ring(2, tracker)
        }.racing(
            { $0.sources[0].resolve(0) }, { $0.sources[1].resolve(1) }
        ).check { ring in
            ring.expectCycle()
        }
        #expect(tracker.alive == 0)
    }

    @Test("L5: a cycle that three threads close together fails with .cycle, and leaks nothing")
    func ringOfThree() {
        let tracker = LeakTracker()
        Race {
            Ring(3, tracker)
        }.racing(
            { $0.sources[0].resolve(0) }, { $0.sources[1].resolve(1) }, { $0.sources[2].resolve(2) }
        ).check { ring in
            ring.expectCycle()
        }
        #expect(tracker.alive == 0)
    }

    /// Links whose callbacks return the next one; the last one's returns the first.
    private final class Ring: Sendable {
        let sources: [Deferred<Int>]
        private let slots: [Slot<Deferred<Int>>]

        init(_ count: Int, _ tracker: LeakTracker) {
            sources = (0..<count).map { _ in Deferred<Int>() }
            slots = sources.map { _ in Slot<Deferred<Int>>(nil) }
            for (index, source) in sources.enumerated() {
                let next = slots[(index + 1) % count]
                let tracked = tracker.begin()
                slots[index].put(
                    source.then { _ -> Deferred<Int> in
                        tracked.use()
                        return next.now ?? .rejected(TestError(number: 0))
                    }.map { $0 })
            }
        }

        func expectCycle() {
            for slot in slots {
                #expect(ModelOutcome(slot.take()?.currentResult) == .failure(.cycle))
            }
        }
    }

    @Test("L6, C4: an endless asynchronous recursion is ended by a cancel, whichever step it meets")
    func cancelRecursion() {
        final class Loop: Sendable {
            let step = Slot<Resolver<Void>>(nil)
            let end = Slot<Deferred<Void>>(nil)
            let tracker: LeakTracker

            init(_ tracker: LeakTracker) { self.tracker = tracker }

            func next() -> Deferred<Void> {
                let (deferred, resolver) = Deferred<Void>.withResolver()
                step.put(resolver)
                let tracked = tracker.begin()
                return deferred.then { [self] () -> Deferred<Void> in
                    tracked.use()
                    return next()
                }
            }
        }
        let tracker = LeakTracker()
        Race {
            let loop = Loop(tracker)
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
        #expect(tracker.alive == 0)
    }
}
