import Deferred
import TestThreads
import Testing

extension Rules {
    /// On a thread with a stack of 512 KiB: what recursed, by a hundred bytes a link, would end the process.
    @Suite("Rules F6, L6: depth", .serialized, .ownThreads) struct Depth {
        /// A million; fewer under a sanitizer, which makes each cost ten times as much.
        static let count = Sanitizer.isOn ? 200_000 : 1_000_000

        /// Runs `body` on such a thread, which tells by `check` what is not so: an `#expect` there would
        /// belong to no test.
        private func onSmallStack(_ body: @escaping @Sendable (_ check: Checks) -> Void) {
            let checks = Checks()
            onThread(stackSize: 512 * 1024) { body(checks) }
            #expect(checks.failed.entries == [])
        }

        private struct Checks: Sendable {
            let failed = Log()

            func callAsFunction<Value: Equatable>(_ value: Value, is expected: Value, line: Int = #line) {
                if value != expected { failed("line \(line): \(value) instead of \(expected)") }
            }

            func callAsFunction(_ condition: Bool, line: Int = #line) {
                callAsFunction(condition, is: true, line: line)
            }
        }

        @Test(
            "F6: 1,000,000 links in a row: fired with a value, a failure, cancelled from either end, dropped",
            arguments: 0..<5)
        func row(kind: Int) {
            onSmallStack { check in
                var source: Deferred<Int>? = Deferred<Int>()
                var last = source!
                for _ in 0..<Depth.count { last = last.then { $0 + 1 } }
                switch kind {
                case 0: source!.resolve(0)
                case 1: source!.reject(Boom(1))
                case 2: source!.cancel()
                case 3: last.cancel()
                default: source = nil
                }
                check(
                    outcome(last),
                    is: ["\(Depth.count)", "Boom(1)", "cancelled", "cancelled", "abandoned"][kind])
            }
        }

        @Test(
            "F6: a row of all kinds of links, and on dispatchers that run at once, or drop their work",
            arguments: 0..<3)
        func mixedRow(kind: Int) {
            onSmallStack { check in
                let source = Deferred<Int>()
                var last = source
                for index in 0..<(Depth.count / 4) {
                    switch kind {
                    case 0: last = last.then { $0 }.fail { _ in 0 }.both { try $0.get() }.shielded()
                    case 1: last = last.then(on: InlineDispatcher()) { $0 + 1 }
                    default: last = last.then(on: DroppingDispatcher()) { $0 }
                    }
                    if kind == 0 && index % 2 == 0 { last = last.finally { _ in } }
                }
                source.resolve(0)
                check(outcome(last), is: ["0", "\(Depth.count / 4)", "abandoned"][kind])
            }
        }

        @Test("F6: the whole row dropped before it was fired, handles and all")
        func droppedRow() {
            onSmallStack { check in
                let lives = Lives()
                _ = reports {
                    let source = Deferred<Int>()
                    var last = source
                    for _ in 0..<Depth.count {
                        last = last.then { [life = lives.begin()] in
                            life.use(); return $0
                        }
                    }
                }
                check(lives.alive, is: 0)
            }
        }

        @Test(
            "F6: nested 1,000,000 deep, the outermost waiting first or last: fired, cancelled, dropped",
            arguments: 0..<2, 0..<3)
        func nested(order: Int, ending: Int) {
            onSmallStack { check in
                let count = Depth.count
                var innermost: Deferred<Int>? = Deferred<Int>()
                var outermost = innermost!.then { $0 }
                var sources: [Deferred<Int>] = []
                for _ in 0..<count {
                    let inner = outermost
                    if order == 0 {
                        outermost = Deferred.resolved(0).then { _ in inner }
                    } else {
                        let source = Deferred<Int>()
                        sources.append(source)
                        outermost = source.then { _ in inner }
                    }
                }
                for source in sources.reversed() { source.resolve(0) }
                switch ending {
                case 0: innermost!.resolve(5)
                case 1: outermost.cancel()
                default: innermost = nil
                }
                check(outcome(outermost), is: ["5", "cancelled", "abandoned"][ending])
                sources = []
            }
        }

        @Test("F6: 1,000,000 followers in a row: fired, cancelled, dropped", arguments: 0..<3)
        func followers(ending: Int) {
            onSmallStack { check in
                var source: Deferred<Int>? = Deferred<Int>()
                var last = source!.then { $0 }
                for _ in 0..<Depth.count {
                    let next = Deferred<Int>()
                    next.follow(last)
                    last = next
                }
                switch ending {
                case 0: source!.resolve(1)
                case 1: last.cancel()
                default: source = nil
                }
                check(outcome(last), is: ["1", "cancelled", "abandoned"][ending])
            }
        }

        @Test(
            "F6: 1,000,000 paused links, unpaused from the source's end, or with their handles gone",
            arguments: 0..<3)
        func paused(ending: Int) {
            onSmallStack { check in
                let source = Deferred<Int>()
                var all: [Deferred<Int>] = []
                var last = source
                for _ in 0..<Depth.count {
                    last = last.then { $0 }
                    last.pause()
                    if ending < 2 { all.append(last) }
                }
                let end = last.then { $0 + 1 }
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

        @Test("F6: 1,000,000 finalizers down a row, and on one Deferred, run once each, in order")
        func finalizers() {
            onSmallStack { check in
                let ran = Box(0)
                let source = Deferred<Int>()
                var last = source
                for index in 0..<(Depth.count / 2) {
                    last = last.then { $0 }
                    last.finally { _ in
                        ran.change {
                            if $0 == Depth.count / 2 - 1 - index { $0 += 1 }
                        }
                    }
                }
                let one = Deferred<Int>()
                for index in 0..<(Depth.count / 2) {
                    one.finally { _ in
                        ran.change {
                            if $0 == Depth.count - 1 - index { $0 += 1 }
                        }
                    }
                }
                source.resolve(1)
                check(ran.value, is: Depth.count / 2)
                one.resolve(1)
                check(ran.value, is: Depth.count)
            }
        }

        @Test("F6: lists in lists, 100,000 deep: fired, cancelled, dropped", arguments: 0..<3)
        func lists(ending: Int) {
            onSmallStack { check in
                var source: Deferred<Int>? = Deferred<Int>()
                var last = source!.then { $0 }
                for index in 0..<100_000 {
                    if index % 2 == 0 {
                        last = DeferredList([last]).values().then { $0[0] }
                    } else {
                        last = gather(last, last).then { value, _ in value }
                    }
                }
                switch ending {
                case 0: source!.resolve(1)
                case 1: last.cancel()
                default: source = nil
                }
                check(outcome(last), is: ["1", "cancelled", "abandoned"][ending])
            }
        }

        @Test(
            "F6: 1,000,000 consumers of one Deferred are told in order; and cancelled, in either order, in linear time",
            arguments: 0..<3)
        func breadth(ending: Int) {
            onSmallStack { check in
                let next = Box(0)
                let source = Deferred<Int>()
                var all: [Deferred<Void>] = []
                for index in 0..<Depth.count {
                    let consumer = source.then { _ in next.change { if $0 == index { $0 += 1 } } }
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

        @Test(
            "L6: an asynchronous loop written as a recursion runs in constant memory: every form that nests",
            arguments: 0..<4)
        func recursion(form: Int) {
            onSmallStack { check in
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
                let steps = form == 0 ? Depth.count : Depth.count / 10
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
            onSmallStack { check in
                let lives = Lives()
                let next = Box<Resolver<Int>?>(nil)
                @Sendable func loop(_ sum: Int) -> Deferred<Int> {
                    let life = lives.begin()
                    return Deferred<Int> { next.value = $0 }.then { number in
                        life.use()
                        return number == 0 ? .resolved(sum) : loop(sum + number)
                    }
                }
                let steps = 10 * Depth.count
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
            onSmallStack { check in
                let lives = Lives()
                let next = Box<Resolver<Lives.Life>?>(nil)
                @Sendable func loop(_ remaining: Int) -> Deferred<Int> {
                    Deferred<Lives.Life> { next.value = $0 }.then { life in
                        life.use()
                        return remaining == 0 ? .resolved(7) : loop(remaining - 1)
                    }
                }
                let log = Log()
                let steps = Depth.count / 10
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
