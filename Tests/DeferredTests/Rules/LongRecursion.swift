import Deferred
import TestThreads
import Testing

extension Rules {
    /// Asynchronous loops, written as recursions; on a small stack too.
    @Suite("Rule L6: asynchronous recursion", .serialized, .ownThreads) struct LongRecursion {
        private static var count: Int { SmallStack.million }

        @Test(
            "L6: an asynchronous loop written as a recursion runs in constant memory: every form that nests",
            arguments: 0..<4)
        func recursion(form: Int) {
            SmallStack.run { check in
                let lives = Lives()
                let next = Box<Resolver<Int>?>(nil)
                let positions = Box<[Position]>([])
                @Sendable func step() -> Deferred<Int> { Deferred { next.value = $0 } }
                @Sendable func loop(_ remaining: Int) -> Deferred<Int> {
                    let life = lives.begin()
                    @Sendable func again() -> Deferred<Int> {
                        life.use()
                        return remaining == 0 ? .resolved(7) : loop(remaining - 1)
                    }
                    let whole =
                        switch form {
                        case 0: step().then { _ in again() }
                        case 1: step().both { _ in again() }
                        case 2: step().then({ _ in again() }, fail: { _ in again() })
                        default: step().then(on: InlineDispatcher()) { _ in again() }
                        }
                    if remaining % 16 == 0 { positions.change { $0.append(Position(whole)) } }
                    return whole
                }
                let steps = form == 0 ? LongRecursion.count : LongRecursion.count / 10
                let whole = loop(steps)
                var most = 0
                for index in 0..<steps {
                    let resolver = next.value!
                    resolver.resolve(index)
                    most = max(most, lives.alive)
                }
                // What is captured by the step that waits, and by the one that it came from.
                check(most <= 2)
                // The outermost position, which has a handle, and the one that waits now; of all others
                // nothing is left.
                check(positions.value.count, is: steps / 16 + 1)
                check(positions.value.count { $0.isAlive } <= 2)
                next.value!.resolve(steps)
                check(outcome(whole), is: "7")
                check(lives.alive, is: 0)
            }
        }

        /// Sees whether what is behind a handle is still there, without keeping it.
        private struct Position {
            private weak var object: AnyObject?

            var isAlive: Bool { object != nil }

            init<Value>(_ deferred: Deferred<Value>) {
                object =
                    Mirror(reflecting: deferred).children.first { $0.label == "link" }?.value as AnyObject?
                precondition(object != nil, "a Deferred has its link in a property of that name")
            }
        }

        @Test("L6: 10,000,000 steps of an asynchronous recursion hold no more than two did")
        func longRecursion() {
            SmallStack.run { check in
                let lives = Lives()
                let next = Box<Resolver<Int>?>(nil)
                @Sendable func loop(_ sum: Int) -> Deferred<Int> {
                    let life = lives.begin()
                    return Deferred<Int> { next.value = $0 }.then { number in
                        life.use()
                        return number == 0 ? .resolved(sum) : loop(sum + number)
                    }
                }
                let steps = 10 * LongRecursion.count
                let whole = loop(0)
                var most = 0
                for _ in 0..<steps {
                    next.value!.resolve(1)
                    most = max(most, lives.alive)
                }
                check(most <= 2)
                next.value!.resolve(0)
                check(outcome(whole), is: "\(steps)")
                check(lives.alive, is: 0)
            }
        }

        @Test("L6: the values that the steps gave are freed as it runs")
        func recursionFreesValues() {
            SmallStack.run { check in
                let lives = Lives()
                let next = Box<Resolver<Lives.Life>?>(nil)
                @Sendable func loop(_ remaining: Int) -> Deferred<Int> {
                    Deferred<Lives.Life> { next.value = $0 }.then { life in
                        life.use()
                        return remaining == 0 ? .resolved(7) : loop(remaining - 1)
                    }
                }
                let log = Log()
                let steps = LongRecursion.count / 10
                loop(steps).then { log("\($0)") }
                var most = 0
                for _ in 0...steps {
                    let resolver = next.value!
                    resolver.resolve(lives.begin())
                    most = max(most, lives.alive)
                }
                check(log.entries, is: ["7"])
                check(most <= 2)
                check(lives.alive, is: 0)
            }
        }
    }
}
