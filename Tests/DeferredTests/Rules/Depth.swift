import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    /// Runs on a small stack: a recursion of ten bytes per link, or a hundred where there are fewer, would end the process.
    @Suite("Rule F6: depth", .serialized, .ownThreads) struct Depth {
        private static var count: Int { Extent.depth }

        /// A way to make what depends on a Deferred, so deep that a recursion would overflow the stack.
        struct Shape: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let extend: @Sendable (Deferred<Int>) -> Deferred<Int>

            init(_ name: String, _ extend: @escaping @Sendable (Deferred<Int>) -> Deferred<Int>) {
                testDescription = name
                self.extend = extend
            }

            /// Repeats `step`, each time with what it returned before.
            init(
                _ name: String, times: Int,
                _ step: @escaping @Sendable (Deferred<Int>, _ index: Int) -> Deferred<Int>
            ) {
                self.init(name) { (0..<times).reduce($0.map { $0 }, step) }
            }
        }

        static let shapes = [
            Shape("links", times: count) { last, _ in last.map { $0 } },
            Shape("links of all kinds", times: count / 4) { last, index in
                let next = last.map { $0 }.recover { throw $0 }.mapResult { try $0.get() }.shielded()
                return index % 2 == 0 ? next.finally { _ in } : next
            },
            Shape("steps on a dispatcher that runs at once", times: count / 4) { last, _ in
                last.map(on: InlineDispatcher()) { $0 }
            },
            Shape("finalizers on a dispatcher that runs at once", times: count / 4) { last, _ in
                last.map { $0 }.finally(on: InlineDispatcher()) { _ in }
            },
            Shape("results", times: count / 10) { last, _ in last.thenResult { Deferred($0) } },
            Shape("followers", times: count) { last, _ in
                let next = Deferred<Int>()
                next.follow(last)
                return next
            },
            Shape("lists in lists", times: count / 10) { last, index in
                index % 2 == 0
                    ? DeferredList([last]).values().map { $0[0] }
                    : gather(last, last).map { value, _ in value }
            },
            Shape("lists with a limit", times: count / 10) { last, _ in
                DeferredList([0, 1], limit: 1) { _ in last }.values().map { $0[0] }
            },
            Shape("attempts", times: count / 10) { last, _ in .retry(attempts: 1) { last } },
            Shape("requests of caches", times: count / 10) { last, _ in
                DeferredCache<Int, Int>().value(for: 1) { last }
            },
            Shape("locks, each released when the one before is", times: count / 10) { last, _ in
                let lock = DeferredLock()
                lock.run { last }.fail { _ in }
                return lock.run { Deferred(catching: { try last.currentResult!.get() }) }
            },
            Shape("nested, the outermost waiting last", times: count) { last, _ in
                Deferred.resolved(0).then { _ in last }
            },
            Shape("nested, the outermost waiting first") {
                let sources = (0..<count).map { _ in Deferred<Int>() }
                let outermost = sources.reduce($0.map { $0 }) { last, source in source.then { _ in last } }
                for source in sources.reversed() { source.resolve(0) }
                return outermost
            },
        ]

        @Test(
            "F6: deep chains: completed with a value, a failure, cancelled from either end, released",
            arguments: shapes, 0..<5)
        func deep(shape: Shape, ending: Int) {
            SmallStack.run { check in
                var source: Deferred<Int>? = Deferred<Int>()
                let last = shape.extend(source!)
                switch ending {
                case 0: source!.resolve(5)
                case 1: source!.reject(Boom(1))
                case 2: source!.cancel()
                case 3: last.cancel()
                default: source = nil
                }
                withExtendedLifetime(source) {}
                check(outcome(last), is: ["5", "Boom(1)", "cancelled", "cancelled", "abandoned"][ending])
            }
        }

        @Test("F6: a row of asynchronous bodies that end at once, each with the permit after the one before")
        func asynchronousBodies() {
            SmallStack.run { check in
                let (lock, gate) = (DeferredLock(), Deferred<Int>())
                let holder = lock.run { gate }
                let bodies = (0..<Depth.count / 10).map { index in lock.asyncRun { index } }
                gate.resolve(0)
                let results = DeferredList([holder] + bodies).values()
                check("\((try? results.wait().count) ?? 0)", is: "\(bodies.count + 1)")
            }
        }

        @Test("F6: a row of steps on a dispatcher that drops its work")
        func droppedRow() {
            SmallStack.run { check in
                let source = Deferred<Int>()
                let last = (0..<Depth.count).reduce(source) { last, _ in
                    last.map(on: DroppingDispatcher()) { $0 }
                }
                source.resolve(0)
                check(outcome(last), is: "abandoned")
            }
        }

        @Test(
            "F6: many sources, each retained by a closure of the one before, released together",
            arguments: 0..<4)
        func heldByCallbacks(kind: Int) {
            SmallStack.run { check in
                let tracker = LeakTracker()
                var first: Deferred<Int>? = Deferred(canceller: { [life = tracker.begin()] _ in life.use() })
                let end = first!.map { $0 }
                for _ in 0..<Depth.count {
                    let held = first
                    switch kind {
                    case 0:
                        let next = Deferred<Int>()
                        next.fail { _ in _ = held }
                        first = next
                    case 1:
                        first = Deferred<Int>(canceller: { _ in _ = held })
                    case 2:
                        let (next, resolver) = Deferred<Int>.withResolver()
                        next.fail { _ in _ = held }
                        first = Deferred<Int>(canceller: { _ in _ = resolver })
                    default:
                        let next = Deferred<Int>()
                        _ = next.then { _ in held! }
                        first = next
                    }
                }
                withExtendedLifetime(first) {}
                check(end.currentResult == nil)
                // With kind 3, each of the many failures is unhandled: too much for standard error.
                DeferredDiagnostics.withHandler({ _ in }) { first = nil }
                check(outcome(end), is: "abandoned")
                check(tracker.alive, is: 0)
            }
        }

        @Test(
            "F6: many paused links, unpaused from the source's end, or with their handles released",
            arguments: 0..<3)
        func paused(ending: Int) {
            SmallStack.run { check in
                let source = Deferred<Int>()
                var all: [Deferred<Int>] = []
                var last = source
                for _ in 0..<Depth.count {
                    last = last.map { $0 }
                    last.pause()
                    if ending < 2 { all.append(last) }
                }
                let end = last.map { $0 + 1 }
                last = source
                switch ending {
                case 0:
                    source.resolve(1)
                    for position in all { position.unpause() }
                case 1:
                    source.resolve(1)
                    all = []
                default:
                    source.resolve(1)
                }
                check(outcome(end), is: "2")
            }
        }

        @Test("F6: many finalizers down a row, and on one Deferred, run once each, in order")
        func finalizers() {
            SmallStack.run { check in
                let (half, expected) = (Depth.count / 2, Box(0))
                let (source, one) = (Deferred<Int>(), Deferred<Int>())
                var last = source
                for index in 0..<half {
                    last = last.map { $0 }
                    for deferred in [last, one] {
                        deferred.finally { _ in expected.change { if $0 == index { $0 -= 1 } } }
                    }
                }
                for deferred in [source, one] {
                    expected.value = half - 1
                    deferred.resolve(1)
                    check(expected.value, is: -1)
                }
            }
        }

        @Test(
            "F6: many consumers of one Deferred are notified, or cancelled, in linear time",
            arguments: 0..<3)
        func breadth(ending: Int) {
            SmallStack.run { check in
                let next = Box(0)
                let source = Deferred<Int>()
                var all: [Deferred<Void>] = []
                for index in 0..<Depth.count {
                    let consumer = source.done { _ in next.change { if $0 == index { $0 += 1 } } }
                    if ending > 0 { all.append(consumer) }
                }
                switch ending {
                case 0: source.resolve(1)
                case 1: for consumer in all { consumer.cancel() }
                default: for consumer in all.reversed() { consumer.cancel() }
                }
                check(next.value, is: (ending == 0 ? Depth.count : 0))
                check(outcome(source), is: (ending == 0 ? "1" : "cancelled"))
            }
        }
    }
}

extension Rules {
    /// A thread with a stack of 512 KiB. What is nested to a depth of 16 takes up to a quarter of that in a debug build,
    /// where closures carry task-local values.
    enum SmallStack {
        /// Runs `body` on such a thread; it reports failures through `check`, since an `#expect` there would
        /// belong to no test.
        static func run(_ body: @escaping @Sendable (_ check: Checks) -> Void) {
            let checks = Checks()
            onThread(stackSize: 512 * 1024) { body(checks) }
            #expect(checks.failed.all == [])
        }

        struct Checks: Sendable {
            fileprivate let failed = Log()

            func callAsFunction<Value: Equatable>(_ value: Value, is expected: Value, line: Int = #line) {
                if value != expected { failed("line \(line): \(value) instead of \(expected)") }
            }

            func callAsFunction(_ condition: Bool, line: Int = #line) {
                callAsFunction(condition, is: true, line: line)
            }
        }
    }
}
