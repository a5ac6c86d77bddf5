import Deferred
import TestSupport
import Testing

/// Nested Deferreds that wait for one another, and recursions. (Generated programs cannot have these.)
@Suite("Torture: nesting", .serialized, .ownThreads)
struct NestingRaces {
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
