import Deferred
import Testing

extension Rules {
    @Suite("Rule A1: abandonment") struct Abandonment {
        @Test("A1: when the last fireable handle goes it fails with .abandoned, and waiting chains end")
        func lastHandleGoes() {
            let log = Log()
            var source: Deferred<Int>? = Deferred<Int>()
            var copy = source
            let chain = source!.then { $0 }.fail { error -> Int in
                log(name(of: error))
                throw error
            }
            source = nil
            #expect(outcome(chain) == "pending")
            #expect(copy != nil)
            copy = nil
            #expect(log.entries == ["abandoned"])
            #expect(outcome(chain) == "abandoned")
        }

        @Test("A1: the same for every way to make one")
        func everyMaker() {
            let chains: [Deferred<Int>] = [
                Deferred<Int>().then { $0 },
                Deferred<Int>(canceller: { _ in }).then { $0 },
                Deferred<Int>.withResolver().deferred,
                Deferred<Int>.withResolver(canceller: { _ in }).deferred,
                Deferred<Int> { _ in },
            ]
            #expect(chains.map(outcome) == Array(repeating: "abandoned", count: chains.count))
        }

        @Test("A1: a Resolver keeps it, whoever drops the handle; the handle alone does not")
        func resolverKeeps() {
            var resolver: Resolver<Int>?
            let deferred: Deferred<Int>
            (deferred, resolver) = Deferred<Int>.withResolver()
            var copy = resolver
            resolver = nil
            #expect(outcome(deferred) == "pending")
            _ = copy?.isCancelled
            copy = nil
            #expect(outcome(deferred) == "abandoned")
        }

        @Test("A1: handles from then and its like, and withResolver's deferred, keep nothing")
        func positionsKeepNothing() {
            var source: Deferred<Int>? = Deferred<Int>()
            let positions = [
                source!.then { $0 }, source!.fail { _ in 0 }, source!.shielded(),
                source!.both { try $0.get() },
                source!.finally { _ in }.then { $0 },
            ]
            source = nil
            #expect(positions.map(outcome) == ["abandoned", "0", "abandoned", "abandoned", "abandoned"])
        }

        @Test("A1: a canceller holds the right to fire only while it runs")
        func cancellerRuns() {
            let kept = Box<Resolver<Int>?>(nil)
            let deferred = Deferred<Int>(canceller: { kept.value = $0 })
            deferred.cancel()
            #expect(outcome(deferred) == "cancelled")
            let found = reports { #expect(kept.value?.resolve(1) == false) }
            #expect(found.isEmpty)
            #expect(outcome(deferred) == "cancelled")

            // Nothing but the canceller's own can fire this one while it runs.
            let log = Log()
            let holder = Box<Deferred<Int>?>(nil)
            let position: Deferred<Int>
            do {
                let source = Deferred<Int>(canceller: { resolver in
                    holder.value = nil
                    log("pending \(!resolver.isCancelled ? "no" : "yes")")
                    resolver.resolve(4)
                })
                holder.value = source
                position = source.then { $0 }
            }
            position.cancel()
            #expect(log.entries == ["pending yes"])
            #expect(outcome(position) == "4")
        }

        @Test("A1: what it waits for nested, follows or watches still may fire it")
        func waitingIsNotAbandoned() {
            let inner = Deferred<Int>()
            var source: Deferred<Int>? = Deferred<Int>()
            let nested = source!.then { _ in inner }
            source!.resolve(1)
            source = nil
            #expect(outcome(nested) == "pending")

            var follower: Deferred<Int>? = Deferred<Int>()
            follower!.follow(inner)
            let afterFollower = follower!.then { $0 }
            follower = nil
            #expect(outcome(afterFollower) == "pending")

            let list = DeferredList([inner]).values()
            inner.resolve(2)
            #expect([outcome(nested), outcome(afterFollower), outcome(list)] == ["2", "2", "[2]"])
        }

        @Test("A1: an abandonment goes through nested waits, followers, lists and dispatchers")
        func goesThroughAll() {
            let queue = HandDispatcher()
            var inner: Deferred<Int>? = Deferred<Int>()
            let nested = Deferred.resolved(0).then { [inner] _ in inner! }
            let follower = Deferred<Int>()
            follower.follow(inner!)
            let values = DeferredList([inner!]).values()
            let results = DeferredList([inner!]).results().then { outcome($0[0]) }
            let gathered = gather(inner!).then { $0 }
            let dispatched = inner!.fail(on: queue) { _ in 5 }
            inner = nil
            queue.runAll()
            #expect(
                [outcome(nested), outcome(follower), outcome(values)]
                    == Array(repeating: "abandoned", count: 3))
            #expect(
                [outcome(results), outcome(gathered), outcome(dispatched)] == ["abandoned", "abandoned", "5"])
        }

        @Test("A1: a list's input that is abandoned counts as failed")
        func listInput() {
            let two = Deferred<Int>()
            let first: Deferred<Int>
            do {
                let one = Deferred<Int>()
                first = DeferredList([one, two]).first().then { $0.value }
            }
            two.resolve(2)
            #expect(outcome(first) == "2")
        }

        @Test("A1: a callback that captures its own fireable handle keeps it alive, until it fires")
        func ownHandleCaptured() {
            let kept = Box<Deferred<Int>?>(nil)
            let position: Deferred<Int>
            do {
                let source = Deferred<Int>()
                kept.value = source
                position = source.then { value in
                    _ = source
                    return value
                }
            }
            #expect(outcome(position) == "pending")
            kept.value!.resolve(1)
            #expect(outcome(position) == "1")
        }

        @Test(
            "A1, T1: the last handle that goes on one thread, with a cancel or an attach on another, ends the chain once"
        )
        func race() {
            for round in 0..<300 {
                let log = Log()
                let holder = Box<Deferred<Int>?>(Deferred<Int>())
                let position = holder.value!.then { $0 }
                position.fail { log(name(of: $0)) }
                onThreads(2) { thread in
                    if thread == 0 {
                        holder.value = nil
                    } else if round % 2 == 0 {
                        position.cancel()
                    } else {
                        position.fail { log("late \(name(of: $0))") }
                    }
                }
                #expect(["abandoned", "cancelled"].contains(log.entries.first ?? ""))
                #expect(log.entries.count == (round % 2 == 0 ? 1 : 2))
            }
        }
    }
}
