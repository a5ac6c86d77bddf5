import Deferred
import DeferredTesting
import Foundation
import TestSupport
import Testing

extension Rules {
    @Suite("Rules C1, C2: cancelling a source") struct CancellingSources {
        @Test("C1: cancelling a pending source runs its canceller once, on the cancelling thread")
        func runsCanceller() {
            let (log, kept) = (Log(), Box<Resolver<Int>?>(nil))
            let caller = Box<Thread?>(nil)
            let canceller: @Sendable (Resolver<Int>) -> Void = { _ in
                log("canceller")
                #expect(Thread.current === caller.value)
            }
            let (bare, bareResolver) = Deferred<Int>.withResolver()
            let (paired, resolver) = Deferred<Int>.withResolver(canceller: canceller)
            let sources = [
                paired, Deferred(canceller: canceller), bare, Deferred(), Deferred { kept.value = $0 },
            ]
            onThread {
                caller.value = .current
                for source in sources + sources { source.cancel() }
            }
            #expect(log.all == ["canceller", "canceller"])
            #expect(sources.map(outcome) == Array(repeating: "cancelled", count: 5))
            keep(resolver, bareResolver)
        }

        @Test("C1: a canceller that fires a value, or an error of its own, decides the outcome")
        func cancellerFires() {
            let value = Deferred<Int>(canceller: { resolver in #expect(resolver.resolve(7)) })
            value.cancel()
            #expect(outcome(value) == "7")
            let error = Deferred<Int>(canceller: { resolver in #expect(resolver.reject(Boom(7))) })
            error.cancel()
            #expect(outcome(error) == "Boom(7)")
            let fired = Deferred<Int>(canceller: { _ = $0.complete(with: .success(8)) })
            let next = fired.map { $0 + 1 }
            next.cancel()
            #expect(outcome(next) == "9")
        }

        @Test("C1: errbacks may handle a cancellation like any other error; callbacks do not run")
        func errbackHandles() {
            let log = Log()
            let deferred = Deferred<Int>()
            deferred.map { log("callback \($0)", returning: $0) }
                .recover { error -> Int in
                    log(name(of: error))
                    return 4
                }
                .done { log("\($0)") }
            let typed = deferred.recover(CancellationError.self) { _ in 5 }
            deferred.cancel()
            #expect(log.all == ["cancelled", "4"])
            #expect(outcome(typed) == "5")
        }

        @Test("C1: cancelling again from inside does nothing: from the canceller, an errback, a consumer")
        func cancelsAgainInside() {
            let log = Log()
            let (own, next) = (Box<Deferred<Int>?>(nil), Box<Deferred<Int>?>(nil))
            own.value = Deferred<Int>(canceller: { _ in
                log("canceller")
                own.value!.cancel()
                next.value!.cancel()
                log("cancelled again")
            })
            own.value!.recover { error in
                own.value!.cancel()
                return log(name(of: error), returning: 0)
            }.done { log("\($0)") }
            next.value = own.value!.map { $0 }
            own.value!.cancel()
            #expect(log.all == ["canceller", "cancelled again", "cancelled", "0"])
            #expect(outcome(next.value!) == "cancelled")
        }

        @Test(
            "C2: the first late result after a cancel returns false without a report; a second is F1's",
            arguments: [true, false])
        func lateResult(isRejected: Bool) {
            var deferred: Deferred<Int>?
            let resolver: Resolver<Int>
            (deferred, resolver) = Deferred<Int>.withResolver()
            deferred!.cancel()
            #expect(outcome(deferred!) == "cancelled")
            // Also when no handle is left.
            if isRejected { deferred = nil }
            let first = reports { #expect(!(isRejected ? resolver.reject(Boom()) : resolver.resolve(1))) }
            #expect(first.isEmpty)
            let second = reports { #expect(!resolver.resolve(2)) }
            #expect(second.count { words($0).contains("again") } == 1)
            #expect(resolver.isCancelled)
        }

        @Test("C2: a Resolver says isCancelled, in the canceller already, and not if completed before")
        func isCancelled() {
            let seen = Box<Bool?>(nil)
            let (deferred, resolver) = Deferred<Int>.withResolver(canceller: { seen.value = $0.isCancelled })
            let last = deferred.map { $0 }
            #expect(!resolver.isCancelled)
            last.cancel()
            #expect(seen.value == true && resolver.isCancelled)
            let (fired, firedResolver) = Deferred<Int>.withResolver()
            firedResolver.resolve(1)
            fired.cancel()
            #expect(!firedResolver.isCancelled)
        }

        @Test("C2: late results count together, whichever Resolver, handle or finalizer they come through")
        func severalKinds() {
            let kept = Box<Resolver<Int>?>(nil)
            let (deferred, resolver) = Deferred<Int>.withResolver(canceller: { kept.value = $0 })
            deferred.finally { _ in kept.value!.resolve(1) }
            #expect(reports { deferred.cancel() }.isEmpty)
            #expect(reports { resolver.resolve(2) }.count == 1)
            #expect(reports { kept.value!.resolve(3) }.count == 1)

            let handle = Deferred<Int>(canceller: { kept.value = $0 })
            handle.cancel()
            #expect(reports { handle.resolve(1) }.isEmpty)
            #expect(reports { kept.value!.resolve(2) }.count == 1)
            #expect(reports { handle.resolve(3) }.count == 1)
        }

        @Test("A2: a Resolver that a canceller kept does not retain the settled Deferred")
        func keptResolver() {
            let tracker = LeakTracker()
            let kept = Box<Resolver<LeakTracker.Tracked>?>(nil)
            do {
                let deferred = Deferred<LeakTracker.Tracked>(canceller: {
                    kept.value = $0
                    $0.resolve(tracker.begin())
                })
                deferred.cancel()
                #expect(tracker.alive == 1)
            }
            #expect(tracker.alive == 0)
        }

        @Test(
            "C1, C5: on another thread, too, the canceller's own Resolver decides; another producer only came first",
            arguments: [true, false])
        func completedOnAnotherThread(byCanceller: Bool) {
            let (queue, producer) = (ManualDispatcher(), Box<Resolver<Int>?>(nil))
            let (source, resolver) = Deferred<Int>.withResolver(canceller: { own in
                onThread { #expect((byCanceller ? own : producer.value!).resolve(7)) }
            })
            producer.value = resolver
            let link = source.map(on: queue) { $0 + 1 }
            link.cancel()
            queue.run()
            #expect(outcome(link) == (byCanceller ? "8" : "cancelled"))
        }
    }
}
