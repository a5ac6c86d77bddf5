import Deferred
import DeferredTesting
import Testing

extension Rules {
    @Suite("Rules C3, C4: cancelling a later position, shields, nested waits") struct CancellingConsumers {
        static let consumers: [@Sendable (Deferred<Int>) -> @Sendable () -> Void] = [
            { source in
                let nested = Deferred.resolved(0).then { _ in source }
                return { nested.cancel() }
            },
            { source in
                let (follower, resolver) = Deferred<Int>.withResolver()
                resolver.follow(source)
                return {
                    follower.cancel()
                    keep(resolver)
                }
            },
            { source in
                let list = DeferredList([source]).values()
                return { list.cancel() }
            },
            // A link without a handle.
            { source in
                source.done { _ in }
                return { source.cancel() }
            },
        ]

        @Test(
            "C3: a nested wait, a follower, a list observer and a link without a handle count as consumers",
            arguments: consumers.indices)
        func everyKindOfConsumerCounts(kind: Int) {
            let log = Log()
            let source = Deferred<Int>(canceller: { _ in log("canceller") })
            let cancelConsumer = Self.consumers[kind](source)
            let position = source.map { $0 }
            position.cancel()
            #expect([outcome(position), outcome(source)] == ["cancelled", "pending"])
            cancelConsumer()
            #expect(log.all == ["canceller"])
            #expect(outcome(source) == "cancelled")
        }

        @Test("C3: a finalizer is no consumer")
        func finalizerIsNoConsumer() {
            let source = Deferred<Int>()
            source.finally { _ in }
            let position = source.map { $0 }
            position.cancel()
            #expect(outcome(source) == "cancelled")
        }

        @Test(
            "C3: cancelling a shielded position, or one after it, fails it at once, and nothing upstream",
            arguments: [true, false])
        func cancelStaysBelow(isLater: Bool) {
            let source = Deferred<Int>(canceller: { _ in Issue.record("the canceller ran") })
            let shielded = source.shielded()
            let later = shielded.map { $0 }
            (isLater ? later : shielded).cancel()
            #expect([source, shielded, later].map(outcome) == ["pending", "cancelled", "cancelled"])
            source.resolve(1)
            #expect(outcome(shielded) == "cancelled")
        }

        @Test("C3: a shielded position that was cancelled remains a consumer until upstream is settled")
        func goesOnConsuming() {
            let source = Deferred<Int>(canceller: { _ in Issue.record("the canceller ran") })
            let upstream = source.map { $0 }
            let (shielded, other) = (upstream.shielded(), upstream.map { $0 })
            shielded.cancel()
            other.cancel()
            #expect([shielded, other, upstream].map(outcome) == ["cancelled", "cancelled", "pending"])
            source.resolve(1)
            #expect(outcome(upstream) == "1")
        }

        @Test("C3: a list observer is a consumer of its input until the list is decided")
        func watchUntilDecided() {
            let (input, other) = (Deferred<Int>(), Deferred<Int>())
            let list = DeferredList([input, other]).first()
            let (before, after) = (input.map { $0 }, input.map { $0 })
            before.cancel()
            #expect([outcome(before), outcome(input)] == ["cancelled", "pending"])
            other.resolve(1)
            #expect(outcome(list.map { "\($0.index) \($0.value)" }) == "1 1")
            // Cancelling a settled Deferred does nothing (C5).
            list.cancel()
            #expect(outcome(input) == "pending")
            after.cancel()
            #expect([outcome(after), outcome(input)] == ["cancelled", "cancelled"])
        }

        @Test("C3: a list observer is no consumer any more when its input was cancelled by the list")
        func watchAfterCancel() {
            let input = Deferred<Int>()
            let list = DeferredList([input]).values()
            let position = input.map { $0 }
            list.cancel()
            #expect([outcome(list), outcome(input)] == ["cancelled", "pending"])
            position.cancel()
            #expect(outcome(input) == "cancelled")
        }

        @Test("C4: through any depth of nesting the innermost is cancelled", arguments: [1, 2, 3, 50])
        func cancelsThroughDepth(depth: Int) {
            for isHeld in [true, false] {
                let log = Log()
                let innermost = Deferred<Int>(canceller: { _ in log("innermost") })
                let sources = (0..<depth).map { _ in Deferred<Int>() }
                var outer = innermost
                var held: [Deferred<Int>] = []
                for source in sources {
                    let inner = outer
                    outer = source.then { _ in inner }
                    if isHeld { held.append(outer) }
                }
                // The outermost begins to wait first.
                for source in sources.reversed() { source.resolve(0) }
                outer.cancel()
                #expect(log.all == ["innermost"])
                #expect(([outer, innermost] + held).allSatisfy { outcome($0) == "cancelled" })
            }
        }

        /// Begins a first load and then a second, and returns what was shown, turn by turn.
        private func shown(
            _ attach: (Deferred<Void>, _ show: @escaping @Sendable (String) -> Void) -> Deferred<Void>
        ) -> [String] {
            let (log, turns) = (Log(), ManualDispatcher())
            let (first, second) = (Deferred<String>(), Deferred<String>())
            func load(_ page: Deferred<String>) -> Deferred<Void> {
                log("loading")
                return attach(page.done(on: turns) { log($0) }) { log($0) }
            }
            let loading = load(first)
            loading.cancel()
            let next = load(second)
            turns.run()
            second.resolve("second")
            turns.run()
            keep(next)
            return log.all
        }

        @Test("C3: a transfer that is cancelled to begin again does not overwrite what the new one shows")
        func beginAgain() {
            // A turn later, the cancellation arrives over the new state.
            let plain = shown { loaded, show in loaded.fail { error in show(name(of: error)) } }
            #expect(plain == ["loading", "loading", "cancelled", "second"])
            let passing = shown { loaded, show in loaded.fail(.exceptCancellation) { show(name(of: $0)) } }
            #expect(passing == ["loading", "loading", "second"])
        }

        @Test(
            "L1, U1: fail(.exceptCancellation) passes a CancellationError on, unreported, and handles others"
        )
        func exceptCancellation() {
            let log = Log()
            let reports = reports {
                let cancelled = Deferred<Int>.rejected(CancellationError()).fail(.exceptCancellation) {
                    log("\($0)")
                }
                #expect(outcome(cancelled) == "cancelled")
                Deferred<Int>.rejected(CancellationError()).fail(.exceptCancellation) { log("\($0)") }
                let failed = Deferred<Int>.rejected(Boom(1)).fail(.exceptCancellation) { log(name(of: $0)) }
                #expect(outcome(failed) == "()")
                #expect(outcome(Deferred.resolved(1).fail(.exceptCancellation) { log("\($0)") }) == "()")
                Deferred<Int>.rejected(Boom(2)).fail(.exceptCancellation) { _ in throw Boom(3) }
                let source = Deferred<Int>()
                let link = source.fail(.exceptCancellation) { log("\($0)") }
                link.cancel()
                #expect(outcome(link) == "cancelled")
            }
            #expect(log.all == ["Boom(1)"])
            #expect(reports.map { words($0).prefix(7) } == ["Boom(3)"])
        }
    }
}
