import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

extension Rules {
    /// V3, C3, D3: what is decided leaves its inputs.
    @Suite("Rule V3: decided lists") struct DecidedLists {
        /// Lists that are decided while `long` is pending.
        enum Decided: CaseIterable {
            case first, values, gather, completed, limitedFirst, limitedCompleted, cancelled, cancelledGather

            func run(beside long: Deferred<Int>, consumesErrors: Bool = false) async {
                func failed() -> Deferred<Int> { .rejected(Failed()) }
                switch self {
                case .first:
                    _ = DeferredList([long, .resolved(1)], consumesErrors: consumesErrors).first()
                case .values:
                    DeferredList([long, failed()], consumesErrors: consumesErrors).values().fail { _ in }
                case .gather: Deferred.gathered(long, failed(), consumesErrors).fail { _ in }
                case .completed:
                    for await _ in DeferredList([long, .resolved(1)]).completed { break }
                case .limitedFirst:
                    _ = DeferredList([long, .resolved(1)], limit: 2, consumesErrors: consumesErrors) { $0 }
                        .first()
                case .limitedCompleted:
                    for await _ in DeferredList([long, .resolved(1)], limit: 2, { $0 }).completed { break }
                case .cancelled:
                    let list = DeferredList([long, long], consumesErrors: consumesErrors).results()
                    list.cancel()
                    list.fail { _ in }
                case .cancelledGather:
                    let both = Deferred.gathered(long, long, consumesErrors)
                    both.cancel()
                    both.fail { _ in }
                }
            }
        }

        /// How many links wait for a Deferred.
        private func consumerCount(_ deferred: Deferred<Int>) -> Int {
            var count = 0
            let word = deferred.link.lock()
            Link.forEach(in: word) { _ in count += 1 }
            deferred.link.unlock(word)
            return count
        }

        @Test(
            "V3: a list that is decided leaves nothing at an input that is pending",
            arguments: Decided.allCases)
        func nothingIsLeft(_ decided: Decided) async {
            let (long, resolver) = Deferred<Int>.withResolver()
            let other = long.map { $0 }
            for _ in 0..<3 { await decided.run(beside: long) }
            #expect(consumerCount(long) == 1)
            resolver.resolve(1)
            #expect(other.isSettled)
        }

        @Test("C3: the last other consumer's cancel then stops the work", arguments: Decided.allCases)
        func lastConsumer(_ decided: Decided) async {
            let log = Log()
            let (long, resolver) = Deferred<Int>.withResolver(canceller: { _ in log("stopped") })
            let mine = long.map { $0 }
            await decided.run(beside: long)
            #expect(log.all.isEmpty)
            mine.cancel()
            #expect(log.all == ["stopped"])
            mine.fail { _ in }
            withExtendedLifetime(resolver) {}
        }

        @Test(
            "D3: errors that come later are reported, unless the list consumes them",
            arguments: Decided.allCases)
        func laterErrors(_ decided: Decided) async {
            for consumesErrors in [false, true] {
                let reported = Log()
                await DeferredDiagnostics.withHandler({ reported("\($0)") }) {
                    let long = Deferred<Int>()
                    await decided.run(beside: long, consumesErrors: consumesErrors)
                    long.reject(Failed())
                }
                // The cancel of a list that alone consumes an input has failed that before.
                let handles =
                    consumesErrors
                    || [.completed, .limitedCompleted, .cancelled, .cancelledGather].contains(decided)
                #expect(reported.all.count == (handles ? 0 : 1), "\(decided) \(consumesErrors)")
            }
        }

        @Test("V3: with cancelsRemaining, an input that answers the cancel is left as well")
        func answeredCancel() {
            let inner = Deferred<Int>()
            let source = Deferred<Int>()
            let input = source.orElse { _ in inner }
            _ = DeferredList([input, .resolved(1)], cancelsRemaining: true).first()
            #expect(source.isSettled && !inner.isSettled)
            #expect(consumerCount(input) == 0)
        }

        /// How a list with a limit, whose handle is released, ends by a cancel.
        enum LimitedResult: CaseIterable {
            case first, firstSettled, values, results

            /// Of a list whose only handle this call has.
            func of(_ list: consuming DeferredList<Int>) -> Deferred<Void> {
                switch self {
                case .first: list.first().map { _ in }
                case .firstSettled: list.firstSettled().map { _ in }
                case .values: list.values().map { _ in }
                case .results: list.results().map { _ in }
                }
            }
        }

        @Test(
            "C3, V3: a list with a limit that is cancelled leaves an input that answers the cancel",
            arguments: LimitedResult.allCases)
        func answeredLimit(_ result: LimitedResult) throws {
            let (source, inner) = (Deferred<Int>(), Deferred<Int>())
            let input = source.orElse { _ in inner }
            let ended = result.of(DeferredList(0..<1, limit: 2) { _ in input })
            ended.cancel()
            #expect(try failureResult(of: ended) is CancellationError)
            #expect(source.isSettled && !inner.isSettled)
            #expect(consumerCount(input) == 0)
            input.map { $0 }.cancel()
            #expect(try failureResult(of: inner) is CancellationError)
            #expect(input.isSettled)
        }

        @Test("V3: a cancel that waits in a running callback still reaches what that returns")
        func cancelOfARunningInput() throws {
            let (inner, source, other) = (Deferred<Int>(), Deferred<Int>(), Deferred<Int>())
            let input = source.then { _ in
                other.resolve(1)
                return inner
            }
            let first = DeferredList([input, other], cancelsRemaining: true).first()
            source.resolve(1)
            #expect(try successResult(of: first).value == 1)
            #expect(try failureResult(of: inner) is CancellationError)
        }

        @Test("V3: outcomes that a decided list cannot use any more are released")
        func outcomesAreReleased() async throws {
            final class Object: Sendable {}
            weak var object: Object?
            let (long, resolver) = Deferred<Object>.withResolver()
            let failed = Deferred<Object>()
            let result: Deferred<[Object]> = {
                let made = Object()
                object = made
                let result = DeferredList([.resolved(made), long, failed]).values()
                failed.reject(Failed())
                return result
            }()
            #expect(result.isSettled)
            #expect(object == nil)
            result.fail { _ in }
            withExtendedLifetime(resolver) {}
        }

        @Test("K2: shields that ended and followers without handles leave one consumer at most")
        func shieldsAndFollowers() {
            let log = Log()
            let (long, resolver) = Deferred<Int>.withResolver(canceller: { _ in log("stopped") })
            let mine = long.map { $0 }
            for _ in 0..<100 { long.shielded().cancel() }
            #expect(consumerCount(long) == 2)
            mine.cancel()
            #expect(log.all.isEmpty, "C3: a shield remains a consumer")
            mine.fail { _ in }
            for _ in 0..<1000 { Deferred<Int>().follow(long) }
            #expect(consumerCount(long) < 40)
            var kept: [Deferred<Int>] = []
            for number in 0..<1000 {
                let follower = Deferred<Int>()
                follower.follow(long)
                if number % 10 == 0 { kept.append(follower) }
                Deferred<Int>().follow(long)
            }
            #expect(consumerCount(long) < 400)
            resolver.resolve(3)
            #expect(kept.allSatisfy { $0.isSettled })
        }

        @Test("K2: what followed through a released resolver goes before what it followed is settled")
        func releasedResolvers() {
            let log = Log()
            let (long, resolver) = Deferred<Int>.withResolver()
            let others = long.map { $0 }
            for _ in 0..<1000 { _ = Deferred<Int> { $0.follow(long) } }
            #expect(consumerCount(long) < 40)
            for number in 0..<100 {
                let (follower, right) = Deferred<Int>.withResolver()
                right.follow(long)
                if number % 10 == 0 { follower.done { log("\($0)") } }
            }
            resolver.resolve(3)
            #expect(log.all == Array(repeating: "3", count: 10))
            withExtendedLifetime(others) {}
        }

        @Test(
            "C1: a canceller completes its Deferred also when only what that follows retains it",
            arguments: [true, false])
        func cancellerOfReleased(completes: Bool) throws {
            let log = Log()
            let (long, resolver) = Deferred<Int>.withResolver(canceller: { _ in log("long") })
            let follower: Deferred<Int> = {
                let (follower, right) = Deferred<Int>.withResolver(canceller: {
                    #expect(!$0.isSettled)
                    if completes { #expect($0.resolve(7)) }
                    log("canceller")
                    #expect($0.isSettled == completes)
                })
                right.follow(long)
                return follower
            }()
            #expect(!follower.isSettled)
            follower.cancel()
            #expect(follower.isSettled)
            if completes { #expect(try follower.currentResult?.get() == 7) }
            #expect(log.all == (completes ? ["canceller"] : ["canceller", "long"]))
            withExtendedLifetime(resolver) {}
        }

        @Test("K2: a follower without a handle continues for what waits for it, and for its finalizers")
        func usefulFollowers() {
            let log = Log()
            let (long, resolver) = Deferred<Int>.withResolver()
            for number in 0..<40 {
                let follower = Deferred<Int>()
                follower.follow(long)
                if number % 2 == 0 {
                    follower.done { log("done \($0)") }
                } else {
                    follower.finally { _ in log("end") }
                }
            }
            for _ in 0..<100 { Deferred<Int>().follow(long) }
            resolver.resolve(1)
            #expect(log.all.filter { $0 == "done 1" }.count == 20)
            #expect(log.all.filter { $0 == "end" }.count == 20)
        }

        struct Failed: Error {}
    }
}

extension Deferred where Value == Int {
    fileprivate static func gathered(
        _ first: Deferred<Int>, _ second: Deferred<Int>, _ consumesErrors: Bool
    ) -> Deferred<Int> {
        gather(first, second, consumesErrors: consumesErrors).map { $0 + $1 }
    }
}
