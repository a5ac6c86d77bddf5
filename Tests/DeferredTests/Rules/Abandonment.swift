import Deferred
import DeferredTesting
import Testing

extension Rules {
    @Suite("Rule A1: abandonment") struct Abandonment {
        @Test("A1: when the last handle that can complete it is released it fails with .abandoned")
        func lastHandleGoes() {
            let log = Log()
            var source: Deferred<Int>? = Deferred<Int>()
            var copy = source
            let chain = source!.map { $0 }.recover { error -> Int in
                log(name(of: error))
                throw error
            }
            source = nil
            #expect(outcome(chain) == "pending")
            #expect(copy != nil)
            copy = nil
            #expect(log.all == ["abandoned"])
            #expect(outcome(chain) == "abandoned")
        }

        @Test("A1: the same for every way to make one; handles from map and its like keep nothing")
        func everyMaker() {
            func positions(_ source: Deferred<Int>) -> [Deferred<Int>] {
                [
                    source.map { $0 }, source.recover { throw $0 }, source.shielded(),
                    source.mapResult { try $0.get() }, source.finally { _ in }.map { $0 },
                ]
            }
            let chains =
                positions(Deferred()) + positions(Deferred(canceller: { _ in })) + [
                    Deferred<Int>.withResolver().deferred,
                    Deferred<Int>.withResolver(canceller: { _ in }).deferred, Deferred<Int> { _ in },
                ]
            #expect(chains.map(outcome) == Array(repeating: "abandoned", count: chains.count))
        }

        @Test("A1: a Resolver keeps it pending after its handle is released; the handle alone does not")
        func resolverKeeps() {
            var resolver: Deferred<Int>.Resolver?
            let deferred: Deferred<Int>
            (deferred, resolver) = Deferred<Int>.withResolver()
            var copy = resolver
            resolver = nil
            #expect(outcome(deferred) == "pending")
            _ = copy?.isCancelled
            copy = nil
            #expect(outcome(deferred) == "abandoned")
        }

        @Test("A1: a canceller's resolver can complete it only while the canceller runs")
        func cancellerRuns() {
            let kept = Box<Deferred<Int>.Resolver?>(nil)
            let deferred = Deferred<Int>(canceller: { kept.value = $0 })
            deferred.cancel()
            #expect(kept.value?.resolve(1) == false)
            #expect(outcome(deferred) == "cancelled")
            // Nothing but the canceller's own Resolver can complete this one while it runs.
            let holder = Box<Deferred<Int>?>(nil)
            holder.value = Deferred<Int>(canceller: { resolver in
                holder.value = nil
                resolver.resolve(4)
            })
            let position = holder.value!.map { $0 }
            position.cancel()
            #expect(outcome(position) == "4")
        }

        @Test("A1: what it waits for nested, follows or observes may still complete it")
        func waitingIsNotAbandoned() {
            let inner = Deferred<Int>()
            func follower() -> Deferred<Int> {
                let source = Deferred<Int>()
                source.follow(inner)
                return source.map { $0 }
            }
            let waiting = [
                Deferred.resolved(1).then { _ in inner }, follower(),
                DeferredList([inner]).values().map { $0[0] },
            ]
            #expect(waiting.map(outcome) == ["pending", "pending", "pending"])
            inner.resolve(2)
            #expect(waiting.map(outcome) == ["2", "2", "2"])
        }

        @Test("A1: an abandonment passes through nested waits, followers, lists and dispatchers")
        func goesThroughAll() {
            let queue = ManualDispatcher()
            var inner: Deferred<Int>? = Deferred<Int>()
            let nested = Deferred.resolved(0).then { [inner] _ in inner! }
            let follower = Deferred<Int>()
            follower.follow(inner!)
            let values = DeferredList([inner!]).values()
            let results = DeferredList([inner!]).results().map { outcome($0[0]) }
            let gathered = gather(inner!).map { $0 }
            let dispatched = inner!.recover(on: queue) { _ in 5 }
            inner = nil
            queue.run()
            #expect(
                [outcome(nested), outcome(follower), outcome(values)]
                    == Array(repeating: "abandoned", count: 3))
            #expect(
                [outcome(results), outcome(gathered), outcome(dispatched)] == ["abandoned", "abandoned", "5"])
        }

        @Test("A1: a callback that captures its own completable handle keeps it alive, until it is settled")
        func ownHandleCaptured() {
            let kept = Box<Deferred<Int>?>(nil)
            let position: Deferred<Int>
            do {
                let source = Deferred<Int>()
                kept.value = source
                position = source.map { value in
                    _ = source
                    return value
                }
            }
            #expect(outcome(position) == "pending")
            kept.value!.resolve(1)
            #expect(outcome(position) == "1")
        }
    }
}
