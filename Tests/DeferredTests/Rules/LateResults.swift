import Deferred
import TestSupport
import Testing

extension Rules {
    @Suite("Rule C2: late results") struct LateResults {
        @Test("C2: a late result that comes in a finalizer is the one dropped without a report")
        func inFinalizer() {
            let (deferred, resolver) = Deferred<Int>.withResolver()
            deferred.finally { _ in #expect(!resolver.resolve(1)) }
            #expect(reports { deferred.cancel() }.isEmpty)
            #expect(reports { resolver.resolve(2) }.count == 1)
            #expect(reports { resolver.resolve(3) }.count == 1)
        }

        @Test("C2: of late results from several copies of a Resolver one is dropped without a report")
        func severalCopies() {
            let (deferred, resolver) = Deferred<Int>.withResolver()
            let copies = [resolver, resolver, resolver]
            deferred.cancel()
            #expect(reports { for copy in copies { copy.resolve(1) } }.count == 2)
        }

        @Test(
            "C2: the canceller's Resolver, the producer's and the handle's late results are counted together")
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

        @Test("C2: a producer that completes it while the canceller runs leaves one late result to drop")
        func overtaken() {
            let outer = Box<Resolver<Int>?>(nil)
            let late = Box(0)
            let (deferred, resolver) = Deferred<Int>.withResolver(canceller: { own in
                #expect(outer.value!.resolve(1))
                late.value =
                    reports {
                        own.resolve(2)
                        own.resolve(3)
                    }.count
            })
            outer.value = resolver
            deferred.cancel()
            #expect(outcome(deferred) == "1")
            #expect(late.value == 1)
            outer.value = nil
        }

        @Test("C2: a late result is dropped when no handle is left, and reported with the first completion")
        func withoutHandles() {
            var deferred: Deferred<Int>?
            let resolver: Resolver<Int>
            (deferred, resolver) = Deferred<Int>.withResolver()
            deferred!.cancel()
            deferred = nil
            #expect(reports { resolver.resolve(1) }.isEmpty)
            #expect(reports { resolver.resolve(1) }.count == 1)
            #expect(resolver.isCancelled)
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

        @Test("C1: a canceller's own Resolver decides the outcome on another thread too")
        func cancellerOnAnotherThread() {
            let queue = StoringDispatcher()
            let source = Deferred<Int>(canceller: { resolver in
                onThread { #expect(resolver.resolve(7)) }
            })
            let link = source.map(on: queue) { $0 + 1 }
            link.cancel()
            queue.runAll()
            #expect(outcome(link) == "8")
        }

        @Test("C5: another producer that completes it on another thread meanwhile only came first")
        func producerOnAnotherThread() {
            let queue = StoringDispatcher()
            let outer = Box<Resolver<Int>?>(nil)
            let (source, resolver) = Deferred<Int>.withResolver(canceller: { _ in
                onThread { #expect(outer.value!.resolve(7)) }
            })
            outer.value = resolver
            let link = source.map(on: queue) { $0 + 1 }
            link.cancel()
            queue.runAll()
            #expect(outcome(link) == "cancelled")
            outer.value = nil
        }
    }
}
