import Deferred
import TestSupport
import Testing

/// Endless recursions, which generated programs cannot have.
@Suite("Torture: nesting", .serialized, .ownThreads, .watchdog)
struct NestingRaces {
    @Test("L6, C4: an endless asynchronous recursion is ended by a cancel, whichever step it meets")
    func cancelRecursion() {
        final class Loop: Sendable {
            let step = Slot<Deferred<Void>.Resolver>(nil)
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
