import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    @Suite("Rule A2: lifetimes") struct Lifetimes {
        /// How a Deferred is settled or released.
        enum Ending: CaseIterable {
            case value, failure, cancelled, cancelledFromBelow, abandoned, drop
        }

        /// One way to attach something to a Deferred; the closure captures a tracked object.
        struct Operator: Sendable, CustomTestStringConvertible {
            let testDescription: String
            /// Attaches, and returns a closure that cancels and retains the new link.
            let attach: @Sendable (_ source: Deferred<Int>, _ tracker: LeakTracker) -> @Sendable () -> Void

            init<Value>(
                _ name: String,
                _ attach: @escaping @Sendable (Deferred<Int>, LeakTracker.Tracked) -> Deferred<Value>
            ) {
                testDescription = name
                self.attach = { source, tracker in
                    let attached = attach(source, tracker.begin())
                    return { attached.cancel() }
                }
            }
        }

        static let operators: [Operator] =
            ([nil, InlineDispatcher(), DroppingDispatcher()] as [(any Dispatcher)?])
            .flatMap(OperatorForm.on).map { form in
                Operator("\(form)") { source, life in
                    form.attach(to: source, OperatorForm.Body { _ in life.returning(.resolved(0)) })
                }
            } + others

        private static let others: [Operator] = [
            Operator("thenReturn") { source, life in source.thenReturn(life) },
            Operator("finally") { source, life in source.finally { _ in life.use() }.map { $0 } },
            Operator("finally, dispatched") { source, life in
                source.finally(on: InlineDispatcher()) { _ in life.use() }.map { $0 }
            },
            Operator("shielded") { source, life in source.shielded().map { life.returning($0) } },
            Operator("follow") { source, life in
                let (deferred, resolver) = Deferred<Int>.withResolver(canceller: { _ in life.use() })
                resolver.follow(source)
                return deferred.map { life.returning($0) }
            },
            Operator("a nested wait") { source, life in
                Deferred.resolved(0).then { _ in life.returning(source) }.map { life.returning($0) }
            },
            Operator("values") { source, life in
                DeferredList([source, .resolved(1)]).values().map { life.returning($0.count) }
            },
            Operator("results") { source, life in
                DeferredList([source]).results().map { life.returning($0.count) }
            },
            Operator("first") { source, life in
                DeferredList([source, source], cancelsRemaining: true).first().map {
                    life.use(); return $0.index
                }
            },
            Operator("gather") { source, life in gather(source, source).map { life.returning($0 + $1) } },
            Operator("a list with a limit") { source, life in
                // A handle that can complete the source would keep it from being abandoned.
                let position = source.map { $0 }
                return DeferredList(0..<3, limit: 1) { _ in
                    life.use(); return position
                }.values().map { $0.count }
            },
            Operator("completed") { source, life in
                let position = source.map { $0 }
                let completed = DeferredList(0..<2, limit: 1) { _ in life.returning(position) }.completed
                return source.done { _ in withExtendedLifetime(completed) {} }
            },
            Operator("paused and unpaused") { source, life in
                let position = source.map { life.returning($0) }
                position.pause()
                let last = position.map { life.returning($0) }
                position.unpause()
                return last
            },
        ]

        @Test(
            "A2: what an operator captured is freed when its Deferred has ended, though handles are kept",
            arguments: Ending.allCases)
        func freed(ending: Ending) {
            for attached in Self.operators { expectFreed(by: attached, ending: ending) }
        }

        private func expectFreed(by attached: Operator, ending: Ending) {
            let name = Comment(rawValue: attached.testDescription)
            let tracker = LeakTracker()
            _ = reports {
                do {
                    var source: Deferred<Int>? = Deferred<Int>(canceller: { [life = tracker.begin()] _ in
                        life.use()
                    })
                    let cancel = attached.attach(source!, tracker)
                    #expect(tracker.alive > 0, name)
                    switch ending {
                    case .value: source!.resolve(1)
                    case .failure: source!.reject(Boom(1))
                    case .cancelled: source!.cancel()
                    case .cancelledFromBelow: cancel()
                    case .abandoned, .drop: source = nil
                    }
                    // The outcome is retained: of these only that of thenReturn is tracked. A cancelled
                    // shield leaves its source pending.
                    let keepsMore = attached.testDescription == "thenReturn" && ending == .value
                    let isPending = ending == .cancelledFromBelow && source.map(outcome) == "pending"
                    if !keepsMore && !isPending && ending != .drop { #expect(tracker.alive == 0, name) }
                    if isPending {
                        source!.resolve(1)
                        #expect(tracker.alive == 0, name)
                    }
                    if ending != .drop { withExtendedLifetime(cancel) {} }
                }
                #expect(tracker.alive == 0, name)
            }
        }

        @Test(
            "A2: a canceller that captures its own resolver leaves nothing behind", arguments: [true, false])
        func cancellerCycle(isCancelled: Bool) {
            let tracker = LeakTracker()
            do {
                let holder = Box<Deferred<Int>.Resolver?>(nil)
                let (deferred, resolver) = Deferred<Int>.withResolver(canceller: {
                    [life = tracker.begin()] _ in
                    life.use()
                    holder.value?.reject(Boom(1))
                })
                holder.value = resolver
                deferred.fail { _ -> Void in }
                if isCancelled { deferred.cancel() } else { resolver.resolve(1) }
                holder.value = nil
            }
            #expect(tracker.alive == 0)
        }

        @Test("A2: one long-lived Deferred with many consumers that come and go stays small")
        func comeAndGo() {
            let tracker = LeakTracker()
            let source = Deferred<LeakTracker.Tracked?>()
            let other = source.map { $0 == nil }
            for _ in 0..<1000 {
                let consumer = source.recover { [life = tracker.begin()] _ in life }
                consumer.cancel()
            }
            #expect(tracker.alive < 100)
            source.resolve(nil)
            #expect(tracker.alive == 0)
            #expect(outcome(other) == "true")
        }

        @Test("A2: a settled list keeps no outcomes and handles but its own, though inputs are pending")
        func settledList() {
            let tracker = LeakTracker()
            let (one, two) = (Deferred<LeakTracker.Tracked>(), Deferred<LeakTracker.Tracked>())
            do {
                let first = DeferredList([one, two]).first().done { [life = tracker.begin()] _ in life.use() }
                one.resolve(tracker.begin())
                #expect(outcome(first) == "()")
            }
            // The remaining value is the input's own.
            #expect(tracker.alive == 1)
            two.resolve(tracker.begin())
            #expect(tracker.alive == 2)
        }

        @Test("A2: cycles of captured handles are released once they are settled, cancelled or abandoned")
        func rings() {
            for index in 0..<3 {
                let tracker = LeakTracker()
                do {
                    let own = Box<Deferred<Int>?>(nil)
                    var source: Deferred<Int>? = Deferred<Int>()
                    let position = source!.mapResult { [life = tracker.begin()] result -> Int in
                        life.use()
                        _ = own.value
                        return try result.get()
                    }
                    own.value = position
                    position.fail { [life = tracker.begin()] _ -> Void in
                        life.use()
                        _ = own.value
                    }
                    switch index {
                    case 0: source!.resolve(1)
                    case 1: source!.cancel()
                    default: source = nil
                    }
                    #expect(tracker.alive == 0)
                }
            }
        }

        @Test(
            "A2: callbacks suspended by a pause are released when it is unpaused, or with the last handle",
            arguments: [true, false])
        func paused(isUnpaused: Bool) {
            let tracker = LeakTracker()
            var source: Deferred<Int>? = Deferred<Int>()
            source!.pause()
            let position = source!.map { [life = tracker.begin()] in life.returning($0) }
            source!.finally { [life = tracker.begin()] _ in life.use() }
            source!.resolve(1)
            #expect(tracker.alive == 2)
            if isUnpaused { source!.unpause() } else { source = nil }
            #expect(tracker.alive == 0)
            keep(position)
        }

        @Test("A2: a cancelled consumer frees its captures at once, though its source is pending")
        func cancelledConsumer() {
            let (tracker, source) = (LeakTracker(), Deferred<Int>())
            let other = source.map { $0 }
            let consumers = [
                source.map { [life = tracker.begin()] value in life.returning(value) },
                source.recover { [life = tracker.begin()] _ in life.returning(1) },
            ]
            for consumer in consumers { consumer.cancel() }
            #expect(tracker.alive == 0)
            keep(other, consumers)
            source.resolve(1)
        }
    }
}
