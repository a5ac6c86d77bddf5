import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    @Suite("Rule U1: failures that nobody handled") struct Unhandled {
        /// The errors that are reported as unhandled while `body` runs.
        private func unhandled(_ body: () -> Void) -> [String] {
            reports(body).map { String(words($0).prefix { $0 != " " }) }
        }

        @Test("U1: reported once, when the last handle is released, with the error and where it was created")
        func reportedOnce() {
            let found = reports {
                var source: Deferred<Int>? = Deferred<Int>()
                var copy = source
                source!.reject(Boom(1))
                source = nil
                #expect(copy != nil)
                copy = nil
            }
            #expect(found.map(words) == ["Boom(1) of \(#line - 7)"])
        }

        /// What is done with a source before it fails with `Boom(1)`, and the reports that follow.
        struct Use: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let expected: [String]
            let apply: @Sendable (Deferred<Int>) -> Void

            init(_ name: String, _ expected: String..., apply: @escaping @Sendable (Deferred<Int>) -> Void) {
                testDescription = name
                self.expected = expected
                self.apply = apply
            }
        }

        static let uses: [Use] = [
            Use("an errback") { $0.fail { _ in } },
            Use("both") { $0.both { _ in } },
            Use("a pair") { $0.done({ _ in }, fail: { _ in }) },
            Use("a list") { _ = DeferredList([$0]).results() },
            Use("a nested wait") { source in
                _ = Deferred.resolved(0).then { _ in source }.recover { _ in 0 }
            },
            Use("a nested wait that handles nothing", "Boom(1)") { source in
                _ = Deferred.resolved(0).then { _ in source }
            },
            Use("a follower") { source in
                let follower = Deferred<Int>()
                follower.follow(source)
                follower.fail { _ in }
            },
            Use("two chains without errback beside one with", "Boom(1)", "Boom(1)") {
                $0.fail { _ in }
                $0.done { _ in }
                $0.done { _ in }
            },
            Use("a callback whose dispatcher drops it", "Boom(1)") { source in
                source.done(on: DroppingDispatcher()) { _ in }.fail {
                    #expect($0 as? DeferredError == .abandoned)
                }
            },
            Use("a callback whose dispatcher drops it later", "Boom(1)") { source in
                source.done(on: ManualDispatcher()) { _ in }
            },
            Use("an errback that throws", "Boom(2)") { $0.fail { _ -> Void in throw Boom(2) } },
            Use("an errback for another type", "Boom(1)") { _ = $0.recover(Crash.self) { _ in 0 } },
            Use("an errback for its type") { _ = $0.recover(Boom.self) { _ in 0 } },
            Use("a finalizer", "Boom(1)") { $0.finally { _ in } },
            Use("a pause", "Boom(1)") { $0.pause() },
            Use("a pause and an errback, which is notified when the last handle is released") {
                $0.pause()
                $0.fail { _ in }
            },
            Use("consumers that were cancelled", "Boom(1)") {
                let shielded = $0.shielded()
                let position = $0.recover { _ in 0 }
                shielded.cancel()
                position.cancel()
            },
        ]

        @Test("U1: a failure is reported for each end of a chain that does not handle it", arguments: uses)
        func handling(of use: Use) {
            let found = unhandled {
                let source = Deferred<Int>()
                use.apply(source)
                source.reject(Boom(1))
            }
            #expect(found == use.expected)
        }

        /// What is done, and the reports that follow.
        static let programs: [(name: String, expected: [String], run: @Sendable () -> Void)] = [
            ("currentResult is read", [], { _ = Deferred<Int>.rejected(Boom()).currentResult }),
            ("a callback throws", ["Boom(1)"], { Deferred.resolved(1).done { _ in throw Boom(1) } }),
            ("an initializer's body throws", ["Boom(3)"], { _ = Deferred<Int> { _ in throw Boom(3) } }),
            ("init(catching:)", ["Boom(4)"], { _ = Deferred<Int>(catching: { throw Boom(4) }) }),
            (
                "a cancelled source", [],
                {
                    let source = Deferred<Int>()
                    source.done { _ in }
                    source.cancel()
                }
            ),
            (
                "cancelled consumers", [],
                {
                    let source = Deferred<Int>()
                    let consumers = [source.map { $0 }, source.map { $0 }]
                    for consumer in consumers { consumer.cancel() }
                }
            ),
            ("a CancellationError", [], { _ = Deferred<Int>.rejected(CancellationError()) }),
            ("abandoned, nothing waits", [], { _ = Deferred<Int>() }),
            ("abandoned with its Resolver", [], { _ = Deferred<Int>.withResolver() }),
            ("abandoned, a finalizer", [], { Deferred<Int>().finally { _ in } }),
            ("abandoned, a callback waits", ["abandoned"], { Deferred<Int>().done { _ in } }),
            ("abandoned, an errback waits", [], { Deferred<Int>().fail { _ in } }),
        ]

        @Test(
            "U1: what closures throw is unhandled like any failure, a cancel never, an abandonment if waited for",
            arguments: programs.indices)
        func program(index: Int) {
            let program = Self.programs[index]
            #expect(unhandled(program.run) == program.expected, "\(program.name)")
        }

        @Test("U1: a failure passed on to a link is that link's: a chain reports it once, from its end")
        func passedOn() {
            let found = reports {
                let source = Deferred<Int>()
                source.map { $0 }.done { _ in }
                source.reject(Boom(1))
            }
            #expect(found.map(words) == ["Boom(1) of \(#line - 3)"])
        }

        static let attachments: [@Sendable (Deferred<Int>) -> Deferred<Int>] = [
            { $0.recover { _ in 0 } }, { $0.map { $0 }.map { $0 } },
            { source in Deferred.resolved(0).then { _ in source } }, { source in Deferred.retry { source } },
            // Only of an input that is cancelled with the list: another is none of the list's (D3).
            { DeferredList([$0]).values().map { $0[0] } },
        ]

        @Test(
            "U1: a failure whose consumer was cancelled before it was notified is not reported",
            arguments: attachments.indices.dropLast())
        func cancelledBeforeItsTurn(way: Int) {
            let found = unhandled {
                let source = Deferred<Int>()
                source.pause()
                let position = Self.attachments[way](source)
                source.reject(Boom(1))
                position.cancel()
                source.unpause()
            }
            #expect(found.isEmpty)
        }

        @Test(
            "U1: a callback that fails after its link was cancelled is not reported",
            arguments: attachments.indices)
        func cancelledWhileItRuns(way: Int) {
            let (work, handle) = (ManualDispatcher(), Box<Deferred<Int>?>(nil))
            let found = unhandled {
                let running = Deferred.resolved(1).map(on: work) { (_: Int) -> Int in
                    handle.value!.cancel()
                    throw Boom(1)
                }
                handle.value = Self.attachments[way](running)
                work.run()
                handle.value = nil
            }
            #expect(found.isEmpty)
        }

        /// What makes a Deferred fail with `Boom(1)` and returns it, and what still refers to it.
        static let failing: [@Sendable () -> (failed: any Sendable, others: any Sendable)] = [
            {
                let source = Deferred<Int>()
                let (position, other) = (source.recover { _ -> Int in throw Boom(1) }, source.map { $0 })
                position.cancel()
                return (position, (source, other))
            },
            {
                let (one, two) = (Deferred<Int>(), Deferred<Int>())
                let list = DeferredList([one, two]).values()
                one.reject(Boom(1))
                return (list, (one, two))
            },
            {
                let (deferred, resolver) = Deferred<Int>.withResolver()
                resolver.follow(.rejected(Boom(1)))
                return (deferred, resolver)
            },
        ]

        @Test(
            "U1: it is reported with the last handle, though its source, its inputs or its Resolver remain",
            arguments: failing.indices)
        func othersRemain(kind: Int) {
            let log = Log()
            DeferredDiagnostics.withHandler({ log(words($0).hasPrefix("Boom(1)") ? "reported" : "other") }) {
                var (failed, others): (any Sendable, any Sendable) = Self.failing[kind]()
                #expect(log.all.isEmpty)
                keep(failed)
                failed = ()
                #expect(log.all == ["reported"])
                keep(others)
                others = ()
            }
            #expect(log.all.count { $0 == "reported" } == 1)
        }

        /// Returns a pending Deferred whose canceller fails it with `Boom(1)`.
        private static func failedByCanceller() -> Deferred<Int> {
            Deferred<Int>(canceller: { $0.reject(Boom(1)) })
        }

        static let cancels: [Use] = [
            Use("the source") { $0.cancel() },
            Use("its link") { $0.map { $0 }.cancel() },
            Use("the end of a chain") {
                $0.map { $0 }.always { _ in }.mapError { _ in Boom(2) }.done { _ in }.cancel()
            },
            Use("values of a list") { DeferredList([$0], wrapsErrors: true).values().cancel() },
            Use("results of a list") { DeferredList([$0, $0]).results().cancel() },
            Use("gather") { gather($0, $0).cancel() },
            Use("the rest of a list") { source in
                DeferredList([.resolved(1), source], cancelsRemaining: true).first().done { _ in }
            },
            Use("a list with a limit") { source in
                DeferredList(0..<1, limit: 1) { _ in source }.values().cancel()
            },
            Use("a follower") { source in
                let follower = Deferred<Int>()
                follower.follow(source)
                follower.done { _ in }.cancel()
            },
            Use("a nested wait") { source in
                Deferred.resolved(0).then { _ in source }.done { _ in }.cancel()
            },
            Use("a bag") { source in
                let bag = CancelBag()
                source.store(in: bag)
                bag.cancelAll()
            },
            Use("a cache") { source in DeferredCache<Int, Int>().value(for: 1) { source }.cancel() },
            Use("a semaphore") { source in DeferredSemaphore(1).run { source }.cancel() },
            Use("a retry") { source in Deferred.retry { source }.cancel() },
            Use("an attempt of a retry") { source in
                Deferred.retry(attempts: 1) { source }.done { _ in }
                source.cancel()
            },
            Use("a worker's job") { source in
                let queue = DeferredQueue<Int>()
                _ = queue.run { _ in source }
                try? queue.put(1)
                source.cancel()
                queue.finish()
            },
            Use("a job that ends its worker") { source in
                let queue = DeferredQueue<Int>()
                _ = queue.run(stopsOnFailure: true) { _ in source }
                try? queue.put(1)
                source.cancel()
            },
            Use("a timeout") { source in
                let clock = ManualClock()
                _ = source.timeout(.seconds(1), timer: clock)
                clock.advance(by: .seconds(1))
            },
            // What receives it where the source itself was cancelled.
            Use("a source with many consumers") { source in
                source.done { _ in }
                source.shielded().done { _ in }
                _ = DeferredList([source]).values()
                _ = DeferredList([source]).first()
                _ = DeferredList(0..<1, limit: 1) { _ in source }.values().map { $0[0] }
                Deferred.resolved(0).then { _ in source }.done { _ in }
                source.fail(Crash.self) { _ in }
                source.cancel()
            },
            Use("an errback that throws", "Boom(2)") { source in
                source.fail { _ -> Void in throw Boom(2) }
                source.cancel()
            },
        ]

        @Test("U1: an error with which a canceller rejects its source is never reported", arguments: cancels)
        func cancelledWork(of use: Use) {
            #expect(unhandled { use.apply(Self.failedByCanceller()) } == use.expected)
        }

        @Test("U1: what a callback throws on receiving the value of a canceller is reported")
        func cancellersValue() {
            let found = unhandled {
                let source = Deferred<Int>(canceller: { $0.resolve(1) })
                source.done { _ in throw Boom(2) }.cancel()
                keep(source)
            }
            #expect(found == ["Boom(2)"])
        }

        @Test("U1: an outcome that a cancelled source takes from elsewhere is not reported, either")
        func cancelledSource() {
            let found = unhandled {
                let resolver = Box<Deferred<Int>.Resolver?>(nil)
                let (deferred, other) = Deferred<Int>.withResolver(canceller: { _ in
                    onThreads(1) { _ in resolver.value!.reject(Boom(1)) }
                })
                resolver.value = other
                deferred.done { _ in }
                deferred.cancel()
                resolver.value = nil
                let (follower, source) = (Deferred<Int>(), Self.failedByCanceller())
                follower.follow(source)
                follower.cancel()
                #expect(follower.isSettled)
                keep(source)
            }
            #expect(found.isEmpty)
        }

        @Test(
            "U1: an input abandoned after its list has ended is not reported, with a limit or without",
            arguments: [true, false], [true, false])
        func abandonedInput(hasLimit: Bool, isLate: Bool) {
            let found = unhandled {
                let inputs = Box([Deferred<Int>(), Deferred<Int>()])
                let list =
                    hasLimit
                    ? DeferredList(0..<2, limit: 2) { inputs.value[$0] } : DeferredList(inputs.value)
                let first = list.first()
                if isLate { inputs.value[0].resolve(1) }
                inputs.value = []
                keep(first)
            }
            #expect(found == (isLate ? [] : ["abandoned"]))
        }
    }
}
