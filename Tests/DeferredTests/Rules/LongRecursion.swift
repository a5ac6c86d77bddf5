import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    /// Asynchronous loops, written as recursions; on a small stack too.
    @Suite("Rule L6: asynchronous recursion", .serialized, .ownThreads) struct LongRecursion {
        private static var count: Int { Extent.depth }

        @Test(
            "L6: an asynchronous loop written as a recursion runs in constant memory: every form that nests",
            arguments: 0..<6)
        func recursion(form: Int) {
            SmallStack.run { check in
                let tracker = LeakTracker()
                let next = Box<Deferred<LeakTracker.Tracked>.Resolver?>(nil)
                let positions = Box<[Position]>([])
                @Sendable func step() -> Deferred<LeakTracker.Tracked> { Deferred { next.value = $0 } }
                @Sendable func loop(_ remaining: Int) -> Deferred<Int> {
                    let life = tracker.begin()
                    @Sendable func again() -> Deferred<Int> {
                        life.use()
                        return remaining == 0 ? .resolved(7) : loop(remaining - 1)
                    }
                    let whole =
                        switch form {
                        case 0: step().then { _ in again() }
                        case 1: step().thenResult { _ in again() }
                        case 2: step().then({ _ in again() }, orElse: { _ in again() })
                        // A step that is settled, and whose callback waits for one that is not.
                        case 3: Deferred.resolved(0).then { _ in step().then { _ in again() } }
                        case 4:
                            Deferred<Int>.rejected(DeferredError.empty)
                                .orElse { _ in step().then { _ in again() } }
                        default: step().then(on: InlineDispatcher()) { _ in again() }
                        }
                    if remaining % 16 == 0 { positions.change { $0.append(Position(whole)) } }
                    return whole
                }
                let steps = form == 0 ? LongRecursion.count : LongRecursion.count / 10
                let whole = loop(steps)
                var most = 0
                for _ in 0..<steps {
                    let resolver = next.value!
                    resolver.resolve(tracker.begin())
                    most = max(most, tracker.alive)
                }
                // The captures of the waiting step and of the step before it, whose values are released.
                check(most <= 2)
                // The outermost position, which has a handle, and the one that waits now; all others are
                // released.
                check(positions.value.count, is: steps / 16 + 1)
                check(positions.value.count { $0.isAlive } <= 2)
                next.value!.resolve(tracker.begin())
                next.value = nil
                check(outcome(whole), is: "7")
                check(tracker.alive, is: 0)
            }
        }

        /// Checks whether the link of a handle still exists, without retaining it.
        private struct Position {
            private weak var object: AnyObject?

            var isAlive: Bool { object != nil }

            init<Value>(_ deferred: Deferred<Value>) {
                object =
                    Mirror(reflecting: deferred).children.first { $0.label == "link" }?.value as AnyObject?
                precondition(object != nil, "a Deferred has its link in a property of that name")
            }
        }
    }
}
