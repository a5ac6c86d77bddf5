import Deferred
import DeferredTesting
import Synchronization
import TestSupport
import Testing

extension Rules {
    /// V1: a value that nobody received is given back, once.
    @Suite("Rule V1: undelivered values") struct UndeliveredValues {
        /// Counts the values that were given back.
        private final class Returned: Sendable {
            private let values = Mutex<[Int]>([])
            var all: [Int] { values.withLock { $0 } }
            var note: @Sendable (Int) -> Void { { value in self.values.withLock { $0.append(value) } } }
        }

        /// What a value may come to beside the operators, and whether that receives it.
        enum Use: CaseIterable {
            case currentResult, wait, values, results
            case first, gather, limitedList, timeoutThenDone, followThenDone, shieldedThenDone, thenReturn
            case nothing, isSettled, finally, timeout, shielded, follow
            case nested, cancelledOnQueue, pausedAndCancelled, releasedOnQueue, losesRace, failedValues,
                nestedAndCancelled

            var receives: Bool {
                switch self {
                case .currentResult, .wait, .values, .results, .first, .gather, .limitedList,
                    .timeoutThenDone, .followThenDone, .shieldedThenDone, .thenReturn:
                    true
                default: false
                }
            }
        }

        /// Attaches a use to a Deferred that is to be completed with a value; returns what is to happen then.
        private func attach(_ use: Use, to source: Deferred<Int>) -> () async -> Void {
            switch use {
            case .currentResult: return { _ = source.currentResult }
            case .wait: return { onThread { _ = try? source.wait() } }
            case .values: DeferredList([source]).values().disregard()
            case .results: DeferredList([source]).results().disregard()
            case .first: DeferredList([source]).first().disregard()
            case .gather: gatherTwo(source).disregard()
            case .limitedList: DeferredList([source], limit: 1) { $0 }.values().disregard()
            case .timeoutThenDone: source.timeout(.seconds(1), timer: ManualClock()).done { _ in }
            case .followThenDone:
                let other = Deferred<Int>()
                other.follow(source)
                other.done { _ in }
            case .shieldedThenDone: source.shielded().done { _ in }
            case .thenReturn: source.thenReturn(1).disregard()
            case .nothing: break
            case .isSettled: return { _ = source.isSettled }
            case .finally: source.finally { _ in }
            case .timeout: source.timeout(.seconds(1), timer: ManualClock()).disregard()
            case .shielded: source.shielded().disregard()
            case .follow: Deferred<Int>().follow(source)
            case .nested: Deferred.resolved(0).then { _ in source }.disregard()
            case .cancelledOnQueue:
                let queue = ManualDispatcher()
                let done = source.done(on: queue) { _ in }
                return { done.cancel() }
            case .pausedAndCancelled:
                source.pause()
                let done = source.done { _ in }
                return { done.cancel() }
            case .releasedOnQueue: source.done(on: DroppingDispatcher()) { _ in }
            case .losesRace: DeferredList([.resolved(1), source]).first().disregard()
            case .failedValues: DeferredList([.rejected(TestFailure()), source]).values().fail { _ in }
            case .nestedAndCancelled:
                let queue = ManualDispatcher()
                let done = Deferred.resolved(0).then { _ in source.done(on: queue) { _ in } }
                return { done.cancel() }
            }
            return {}
        }

        private func gatherTwo(_ source: Deferred<Int>) -> Deferred<Int> {
            gather(source, Deferred.resolved(1)).map { $0 + $1 }
        }

        @Test(
            "V1: what receives a value keeps it, what passes it on gives it back", arguments: Use.allCases,
            [false, true])
        func uses(_ use: Use, isResolver: Bool) async {
            let returned = Returned()
            do {
                let (deferred, resolver) = Deferred<Int>.withResolver()
                let handled = Deferred<Int>()
                let afterwards = attach(use, to: isResolver ? deferred : handled)
                if isResolver {
                    resolver.resolve(5, onUndelivered: returned.note)
                } else {
                    handled.resolve(5, onUndelivered: returned.note)
                }
                await afterwards()
                if use == .pausedAndCancelled { #expect(returned.all.isEmpty, "a handle has it") }
            }
            #expect(returned.all == (use.receives ? [] : [5]))
        }

        @Test(
            "V1: an operator whose closure receives the value keeps it, another gives it back",
            arguments: OperatorForm.on(nil) + OperatorForm.on(InlineDispatcher()) + OperatorForm.asynchronous,
            [false, true])
        func operators(_ form: OperatorForm, isSettledFirst: Bool) async {
            let returned = Returned()
            do {
                let source = Deferred<Int>()
                if isSettledFirst { source.resolve(5, onUndelivered: returned.note) }
                let body = OperatorForm.Body { _ in .resolved(0) }
                let ended = form.attachIgnoringValue(to: source, body)
                if !isSettledFirst { source.resolve(5, onUndelivered: returned.note) }
                _ = await ended.result
            }
            #expect(returned.all == (form.receivesValues ? [] : [5]))
        }

        @Test("V1: a settled Deferred gives its value back as well", arguments: Use.allCases)
        func settled(_ use: Use) async {
            let returned = Returned()
            do {
                let source = Deferred.resolved(5, onUndelivered: returned.note)
                // A list that was decided by what is settled already never has it.
                await attach(use, to: source)()
            }
            #expect(returned.all == (use.receives ? [] : [5]))
        }

        @Test("V1: values of every layout are given back, and received unchanged")
        func layouts() throws {
            func check<Value: Sendable & Equatable>(_ value: Value) throws {
                let returned = Mutex<[Value]>([])
                let keep = { @Sendable (value: Value) in returned.withLock { $0.append(value) } }
                Deferred<Value>().resolve(value, onUndelivered: keep)
                #expect(returned.withLock { $0 } == [value])
                let received = Deferred.resolved(value, onUndelivered: keep)
                #expect(try successResult(of: received.map { $0 }) == value)
                #expect(try successResult(of: received) == value)
                _ = consume received
                #expect(returned.withLock { $0 } == [value])
            }
            try check(1)
            try check("a text that is no small string, and is stored outside")
            try check([1, 2, 3])
            try check(Large(words: .init(repeating: 7, count: 3), more: "text", number: 1.5))
            try check(UInt8(3))
            try check(Optional<String>.none)
            let object = Object()
            try check(object)
        }

        @Test("V1: a late value is given back")
        func late() {
            let returned = Returned()
            let source = Deferred<Int>()
            source.cancel()
            #expect(!source.resolve(1, onUndelivered: returned.note))
            #expect(returned.all == [1])
            let (deferred, resolver) = Deferred<Int>.withResolver()
            deferred.cancel()
            #expect(!resolver.resolve(2, onUndelivered: returned.note))
            #expect(returned.all == [1, 2])
            source.fail { _ in }
        }

        @Test("V1: a value that comes after the cancel of an operation is given back (R4)")
        func operation() async {
            let (returned, (start, started)) = (Deferred<Int>(), Deferred<Void>.withResolver())
            let (release, released) = Deferred<Void>.withResolver()
            let file = Deferred(onUndelivered: { returned.resolve($0) }) { () async throws -> Int in
                started.resolve()
                return await Task { (try? await release.value).map { 3 } ?? 4 }.value
            }
            _ = await start.result
            file.cancel()
            released.resolve()
            #expect(try! await returned.value == 3)
            #expect(try! await Deferred(onUndelivered: { _ in Issue.record("received") }) { 1 }.value == 1)
        }

        @Test("V1: an await that was cancelled has not received the value; one that returns it has")
        func awaits() async {
            let returned = Returned()
            do {
                let source = Deferred<Int>()
                let task = Task { try await source.map { $0 }.value }
                task.cancel()
                _ = await task.result
                source.resolve(1, onUndelivered: returned.note)
            }
            do {
                let source = Deferred<Int>()
                let task = Task { try await source.value }
                source.resolve(2, onUndelivered: returned.note)
                _ = await task.result
            }
            // The await above may have come before the value.
            #expect(returned.all == [1] || returned.all == [])
        }

        @Test("V1: outcomes that were not read out of `completed` are given back")
        func completed() async {
            let returned = Returned()
            do {
                let inputs = (0..<4).map { Deferred.resolved($0, onUndelivered: returned.note) }
                for await (index, result) in DeferredList(inputs).completed {
                    #expect(try! result.get() == index)
                    if index == 1 { break }
                }
            }
            #expect(returned.all.sorted() == [2, 3])
        }

        @Test(
            "V1: the closure may own the next value, so deep that recursion overflows (F6)",
            arguments: [true, false])
        func owned(isReceived: Bool) {
            let count = Atomic(0)
            onThread(stackSize: 512 * 1024) {
                var last = Deferred.resolved(0)
                for number in 1...Extent.depth {
                    let next = Deferred<Int>()
                    next.resolve(number) { [last] _ in
                        count.add(1, ordering: .relaxed)
                        withExtendedLifetime(last) {}
                    }
                    if isReceived { _ = next.currentResult }
                    last = next
                }
            }
            #expect(count.load(ordering: .relaxed) == (isReceived ? 0 : Extent.depth))
        }

        @Test(
            "V1: the closure may cancel, complete, and release further values, a million deep, without recursion (F6)"
        )
        func nested() {
            let count = Atomic(0)
            @Sendable func next(_ number: Int) {
                count.add(1, ordering: .relaxed)
                if number > 0 { Deferred<Int>().resolve(number - 1, onUndelivered: next) }
            }
            onThread(stackSize: 512 * 1024) { Deferred<Int>().resolve(Extent.depth, onUndelivered: next) }
            #expect(count.load(ordering: .relaxed) == Extent.depth + 1)
            let (other, returned) = (Deferred<Int>(), Returned())
            let cancelled = other.map { $0 }
            Deferred<Int>().resolve(
                1,
                onUndelivered: {
                    cancelled.cancel()
                    other.resolve($0)
                    returned.note($0)
                })
            #expect(returned.all == [1])
            cancelled.fail { _ in }
        }

        @Test("V1: what a cancelled callback on a busy queue would have received is given back at once")
        func atOnce() {
            let (returned, queue) = (Returned(), ManualDispatcher())
            let source = Deferred<Int>()
            let done = source.map { $0 }.recover { _ in 0 }.shielded().done(on: queue) { _ in }
            source.resolve(1)
            done.cancel()
            let other = Deferred<Int>()
            let second = other.recover { _ in 0 }.done(on: queue) { _ in }
            other.resolve(7, onUndelivered: returned.note)
            second.cancel()
            #expect(returned.all.isEmpty, "`other` still has it")
            _ = consume other
            #expect(returned.all == [7])
            #expect(queue.count == 2)
            queue.run()
        }

        @Test(
            "V1: a value that was received releases its closure, though a handle lives on",
            arguments: [false, true])
        func closures(isResolver: Bool) {
            let tracker = LeakTracker()
            func make() -> Deferred<Int> {
                let tracked = tracker.begin()
                let giveBack = { @Sendable (_: Int) in tracked.use() }
                if !isResolver { return .resolved(1, onUndelivered: giveBack) }
                let (deferred, resolver) = Deferred<Int>.withResolver()
                resolver.resolve(1, onUndelivered: giveBack)
                return deferred
            }
            let deferred = make()
            #expect(tracker.alive == 1)
            #expect(outcome(deferred) == "1")
            #expect(tracker.alive == 0)
            #expect(outcome(deferred) == "1")
        }

        private final class Object: Sendable, Equatable {
            static func == (a: Object, b: Object) -> Bool { a === b }
        }

        private struct Large: Sendable, Equatable {
            var words: [Int]
            var more: String
            var number: Double
        }

        private struct TestFailure: Error {}
    }
}

extension Deferred {
    /// Drops the handle, and handles a failure.
    fileprivate func disregard() { fail { _ in } }
}
