import Deferred
import DeferredTesting
import Foundation
import TestSupport
import Testing

extension Rules {
    @Suite("Rules C1, C2: cancelling a source") struct CancellingSources {
        @Test("C1: cancelling a pending source runs its canceller once, on the cancelling thread")
        func runsCanceller() {
            let (log, kept) = (Log(), Box<Deferred<Int>.Resolver?>(nil))
            let caller = Box<Thread?>(nil)
            let canceller: @Sendable (Deferred<Int>.Resolver) -> Void = { _ in
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

        @Test(
            "C2: the first late result after a cancel returns false without a report; a second is F1's",
            arguments: [true, false])
        func lateResult(isRejected: Bool) {
            var deferred: Deferred<Int>?
            let resolver: Deferred<Int>.Resolver
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
            let (settled, settledResolver) = Deferred<Int>.withResolver()
            settledResolver.resolve(1)
            settled.cancel()
            #expect(!settledResolver.isCancelled)
        }

        @Test("C2: late results count together, whichever Resolver, handle or finalizer they come through")
        func severalKinds() {
            let kept = Box<Deferred<Int>.Resolver?>(nil)
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
            let kept = Box<Deferred<LeakTracker.Tracked>.Resolver?>(nil)
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
            let (queue, producer) = (ManualDispatcher(), Box<Deferred<Int>.Resolver?>(nil))
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
