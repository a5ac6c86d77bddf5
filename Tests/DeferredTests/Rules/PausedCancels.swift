import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    /// P1: only outcomes wait behind a pause; cancels and time limits do not.
    @Suite("Rule P1: cancels behind a pause") struct PausedCancels {
        /// What waits behind the pause of a Deferred.
        enum Waiting: CaseIterable {
            case map, nested, follow, semaphore, bag, list, gathered, dispatchedNext, pair, retry, shielded,
                asyncAwait

            func attach(to paused: Deferred<Int>) -> Deferred<Int> {
                switch self {
                case .map: return paused.map { $0 }
                case .nested: return Deferred.resolved(0).then { _ in paused }
                case .follow:
                    let deferred = Deferred<Int>()
                    deferred.follow(paused)
                    return deferred
                case .semaphore: return DeferredSemaphore(1).run { paused }
                case .bag: return paused.map { $0 }
                case .list: return DeferredList([paused]).values().map { $0[0] }
                case .gathered: return gather(paused, Deferred.resolved(1)).map { $0 + $1 }
                case .dispatchedNext: return paused.map(on: ManualDispatcher()) { $0 }
                case .pair: return paused.map({ $0 }, recover: { throw $0 })
                case .retry: return Deferred.retry { paused }
                case .shielded: return paused.shielded()
                case .asyncAwait: return Deferred { try await paused.value }
                }
            }
        }

        @Test(
            "P1: a cancel of what waits behind a pause takes effect at once", arguments: Waiting.allCases,
            [false, true])
        func cancels(_ waiting: Waiting, isAttachedBefore: Bool) throws {
            let paused = Deferred<Int>()
            paused.pause()
            if !isAttachedBefore { paused.resolve(1) }
            let (other, end, last) = (paused.map { $0 }, waiting.attach(to: paused), paused.map { $0 })
            if isAttachedBefore { paused.resolve(1) }
            if waiting == .bag {
                let bag = CancelBag()
                _ = end.store(in: bag)
                bag.cancelAll()
            } else {
                end.cancel()
            }
            #expect(try failureResult(of: end) is CancellationError)
            #expect(!other.isSettled && !last.isSettled)
            paused.unpause()
            #expect(try successResult(of: other) == 1 && successResult(of: last) == 1)
        }

        @Test(
            "P1: a cancel is not held back by the pause of what is pending, and still reaches its source",
            arguments: Waiting.allCases)
        func pending(_ waiting: Waiting) throws {
            let log = Log()
            let (source, resolver) = Deferred<Int>.withResolver(canceller: { _ in log("stopped") })
            let paused = source.map { $0 }
            paused.pause()
            let end = waiting.attach(to: paused)
            end.cancel()
            #expect(try failureResult(of: end) is CancellationError)
            // A Task may have yet to begin.
            if waiting != .shielded && waiting != .asyncAwait {
                #expect(log.all == ["stopped"])
                #expect(try failureResult(of: paused) is CancellationError)
            }
            paused.unpause()
            resolver.reject(CancellationError())
        }

        @Test(
            "P1: a time limit takes effect behind a pause, unless the Deferred was settled",
            arguments: [false, true])
        func timeLimits(isFailed: Bool) throws {
            let clock = ManualClock()
            let paused = Deferred<Int>()
            paused.pause()
            let limited = paused.timeout(.seconds(1), timer: clock)
            if isFailed { paused.reject(CancellationError()) } else { paused.resolve(1) }
            let inTime = paused.timeout(.seconds(1), timer: clock)
            clock.advance(by: .seconds(1))
            #expect(try failureResult(of: limited, as: DeferredError.self) == .timedOut)
            #expect(!inTime.isSettled)
            paused.unpause()
            #expect(inTime.isSettled)
            inTime.fail { _ in }
        }

        @Test("P1: a permit behind a pause is free after the cancel")
        func permit() throws {
            let (semaphore, paused) = (DeferredSemaphore(1), Deferred<Int>())
            paused.resolve(1)
            paused.pause()
            let first = semaphore.run { paused }
            let second = semaphore.run { Deferred.resolved(2) }
            first.cancel()
            #expect(try successResult(of: second) == 2)
            first.fail { _ in }
        }

        @Test(
            "P1: a pause inside a callback suspends what is not cancelled; what was cancelled before is not held"
        )
        func insideACallback() throws {
            let log = Log()
            let source = Deferred<Int>()
            let cancelled = Box<Deferred<Void>?>(nil)
            let first = source.map { value in
                cancelled.value?.cancel()
                source.pause()
                return value
            }
            let below = first.map { $0 }
            cancelled.value = source.done { _ in log("received") }
            let last = source.map { $0 }
            cancelled.value?.fail { error in log("\(error is CancellationError)") }
            source.resolve(1)
            #expect(log.all == ["true"])
            #expect(first.isSettled && !below.isSettled && !last.isSettled)
            // What follows from callbacks before the pause waits, too (F4), and can be cancelled.
            below.cancel()
            #expect(try failureResult(of: below) is CancellationError)
            last.cancel()
            #expect(try failureResult(of: last) is CancellationError)
            source.unpause()
            #expect(try successResult(of: source.map { $0 }) == 1)
        }

        @Test(
            "P1: what follows from suspended callbacks runs after the last of them, in order, also if some were cancelled"
        )
        func suspendedJobs() {
            let log = Log()
            let source = Deferred<Int>()
            for number in 0..<4 {
                source.map { value in
                    log("callback \(number)")
                    source.pause()
                    return value
                }
                .done { _ in log("below \(number)") }
            }
            let cancelled = (0..<3).map { number in source.done { _ in log("cancelled \(number)") } }
            source.resolve(1)
            #expect(log.all == ["callback 0"])
            cancelled[1].cancel()
            for _ in 0..<2 { source.unpause() }
            cancelled[0].cancel()
            source.unpause()
            source.unpause()
            cancelled[2].cancel()
            #expect(
                log.all == [
                    "callback 0", "callback 1", "callback 2", "callback 3", "cancelled 2", "below 0",
                    "below 1",
                    "below 2", "below 3",
                ])
        }

        @Test("Z1: a finalizer runs when all that a pause suspended was cancelled", arguments: [false, true])
        func finalizer(isNested: Bool) {
            let log = Log()
            let (source, later) = (Deferred<Int>(), Deferred<Int>())
            source.pause()
            source.finally { _ in log("finalizer") }
            let end = source.map { $0 }.orElse { _ in isNested ? later : .resolved(0) }
            end.done { _ in log("end") }
            source.resolve(1)
            end.cancel()
            if isNested {
                #expect(log.all.isEmpty)
                later.resolve(2)
            }
            #expect(log.all == ["end", "finalizer"])
        }

        @Test(
            "P1: consumers of a paused Deferred that is released are notified, except those that were cancelled"
        )
        func released() throws {
            let (kept, cancelled): (Deferred<Int>, Deferred<Int>) = {
                let paused = Deferred<Int>.resolved(1)
                paused.pause()
                let all = (paused.map { $0 }, paused.map { $0 })
                all.1.cancel()
                return all
            }()
            #expect(try successResult(of: kept) == 1)
            #expect(try failureResult(of: cancelled) is CancellationError)
        }
    }
}
