import Deferred
import Foundation
import Testing

extension Rules {
    @Suite("Rule P1: pausing") struct Pausing {
        @Test("P1: a paused Deferred may fire, and shows it, but tells nobody until it is unpaused")
        func holdsEverything() {
            let log = Log()
            let source = Deferred<Int>()
            source.then { log("callback \($0)") }
            let pair = source.then({ $0 }, fail: { _ in 0 })
            let nested = Deferred.resolved(0).then { _ in source }
            let list = DeferredList([source]).values()
            let follower = Deferred<Int>()
            follower.follow(source)
            let shielded = source.shielded()
            let queue = HandDispatcher()
            source.then(on: queue) { log("dispatched \($0)") }
            source.pause()
            #expect(source.resolve(1))
            #expect(outcome(source) == "1")
            let attachedLater = source.then { $0 }
            let listedLater = gather(source, source).then { $0 + $1 }
            let followerLater = Deferred<Int>()
            followerLater.follow(source)
            let nestedLater = Deferred.resolved(0).then { _ in source }
            func outcomes() -> [String] {
                [pair, nested, follower, shielded, attachedLater, followerLater, nestedLater].map(outcome)
                    + [outcome(list), outcome(listedLater)]
            }
            #expect(outcomes() == Array(repeating: "pending", count: 9))
            #expect(log.entries.isEmpty)
            #expect(queue.count == 0)
            source.unpause()
            #expect(outcomes() == Array(repeating: "1", count: 7) + ["[1]", "2"])
            queue.runAll()
            #expect(log.entries == ["callback 1", "dispatched 1"])
        }

        @Test("P1: the last unpause runs what was held, on its thread, before it returns")
        func runsOnUnpausingThread() {
            let log = Log()
            let thread = Box<Thread?>(nil)
            let source = Deferred<Int>()
            source.pause()
            source.then { _ in
                thread.value = .current
                log("callback")
            }
            source.resolve(1)
            onThread {
                source.unpause()
                log("unpause returned")
                #expect(thread.value === Thread.current)
            }
            #expect(log.entries == ["callback", "unpause returned"])
        }

        @Test("P1: pauses nest; one unpause too many is ignored and reported")
        func nests() {
            let log = Log()
            let madeAt = UInt(#line) + 1
            let source = Deferred<Int>()
            source.then { log("\($0)") }
            source.pause()
            source.pause()
            source.resolve(1)
            source.unpause()
            #expect(log.entries.isEmpty)
            source.unpause()
            #expect(log.entries == ["1"])
            let line = UInt(#line) + 1
            let found = reports { source.unpause() }
            guard case .unbalancedUnpause(let made, let at)? = found.first else {
                Issue.record("not reported as unbalanced: \(found)")
                return
            }
            #expect(found.count == 1)
            #expect(made == DeferredDiagnostic.Location(line: madeAt))
            #expect(at == DeferredDiagnostic.Location(line: line))
            source.pause()
            source.then { log("\($0)") }
            #expect(log.entries == ["1"])
            source.unpause()
            #expect(log.entries == ["1", "1"])
        }

        @Test("P1: unpaused before it fires, a Deferred is as if it had never been paused")
        func unpausedBeforeFiring() {
            let log = Log()
            let source = Deferred<Int>()
            source.pause()
            source.then { log("\($0)") }
            source.unpause()
            #expect(log.entries.isEmpty)
            source.resolve(1)
            #expect(log.entries == ["1"])
        }

        @Test("P1: a failure is held as well, and so is a cancel's and an abandonment's")
        func holdsFailures() {
            let log = Log()
            for index in 0..<3 {
                var source: Deferred<Int>? = Deferred<Int>()
                let position = source!.then { $0 }
                position.pause()
                position.fail { log(name(of: $0)) }
                switch index {
                case 0: source!.reject(Boom(1))
                case 1: source!.cancel()
                default: source = nil
                }
                #expect(log.entries.count == index)
                position.unpause()
                #expect(log.entries.count == index + 1)
                keep(source as Any)
            }
            #expect(log.entries == ["Boom(1)", "cancelled", "abandoned"])
        }

        @Test("P1: paused from inside a running callback, it holds from the next one on")
        func pausedFromInside() {
            let log = Log()
            let source = Deferred<Int>()
            source.then { _ in
                log("first")
                source.pause()
                log("still first")
            }
            source.then { _ in log("second") }
            let next = source.then { $0 }
            source.resolve(1)
            #expect(log.entries == ["first", "still first"])
            #expect(outcome(next) == "pending")
            source.then { _ in log("third") }
            #expect(log.entries == ["first", "still first"])
            source.unpause()
            #expect(log.entries == ["first", "still first", "second", "third"])
            #expect(outcome(next) == "1")
        }

        @Test("P1: paused and unpaused inside one callback, it goes on in order")
        func pausedAndUnpausedInside() {
            let log = Log()
            let source = Deferred<Int>()
            source.then { _ in
                source.pause()
                source.unpause()
                log("first")
            }
            source.then { _ in log("second") }
            source.resolve(1)
            #expect(log.entries == ["first", "second"])
        }

        @Test(
            "P1, F4: however often it is paused from inside, nothing further downstream runs before the last callback"
        )
        func pausedTwiceFromInside() {
            let log = Log()
            let source = Deferred<Int>()
            source.then { _ in
                log("a")
                source.pause()
            }.then { log("after a") }
            source.then { _ in
                log("b")
                source.pause()
            }.then { log("after b") }
            source.then { _ in log("c") }
            source.resolve(1)
            #expect(log.entries == ["a"])
            source.unpause()
            #expect(log.entries == ["a", "b"])
            source.unpause()
            #expect(log.entries == ["a", "b", "c", "after a", "after b"])
        }

        @Test("P1: a pause from inside a callback that was attached to a fired Deferred holds too")
        func pausedFromInsideOfFired() {
            let log = Log()
            let source = Deferred.resolved(1)
            source.then { _ in
                source.then { _ in log("inner") }
                source.pause()
                log("outer")
            }
            #expect(log.entries == ["outer"])
            source.unpause()
            #expect(log.entries == ["outer", "inner"])
        }

        @Test("P1: what is upstream of a paused position runs on")
        func upstreamRunsOn() {
            let log = Log()
            let source = Deferred<Int>()
            let paused = source.then {
                log("upstream"); return $0
            }
            paused.pause()
            paused.then { _ in log("downstream") }
            source.then { _ in log("beside") }
            source.resolve(1)
            #expect(log.entries == ["upstream", "beside"])
            #expect(outcome(paused) == "1")
            paused.unpause()
            #expect(log.entries == ["upstream", "beside", "downstream"])
        }

        @Test(
            "P1: when the last handle that could unpause it goes, it counts as unpaused: fired before, or after"
        )
        func lastHandleGoes() {
            for isFiredBefore in [true, false] {
                let log = Log()
                let source = Deferred<Int>()
                var paused: Deferred<Int>? = source.then { $0 }
                paused!.pause()
                paused!.then { log("callback \($0)") }.then { log("downstream") }
                paused!.finally { _ in log("finalizer") }
                if isFiredBefore {
                    source.resolve(1)
                    #expect(log.entries.isEmpty)
                    paused = nil
                } else {
                    paused = nil
                    #expect(log.entries.isEmpty)
                    source.resolve(1)
                }
                #expect(log.entries == ["callback 1", "downstream", "finalizer"])
            }
        }

        @Test(
            "P1: a paused source whose last handle goes counts as unpaused; its Resolver could not unpause it"
        )
        func lastHandleOfSourceGoes() {
            let log = Log()
            var deferred: Deferred<Int>?
            let resolver: Resolver<Int>
            (deferred, resolver) = Deferred<Int>.withResolver()
            deferred!.pause()
            deferred!.then { log("\($0)") }
            deferred = nil
            resolver.resolve(1)
            #expect(log.entries == ["1"])
            keep(resolver)

            var fired: Deferred<Int>?
            let firedResolver: Resolver<Int>
            (fired, firedResolver) = Deferred<Int>.withResolver()
            fired!.pause()
            fired!.then { log("\($0)") }
            firedResolver.resolve(2)
            #expect(log.entries == ["1"])
            fired = nil
            #expect(log.entries == ["1", "2"])
            keep(firedResolver)
        }

        @Test(
            "P1: a paused list's Deferred whose last handle goes counts as unpaused, though inputs are pending"
        )
        func lastHandleOfListGoes() {
            let log = Log()
            let (one, two) = (Deferred<Int>(), Deferred<Int>())
            do {
                let list = DeferredList([one, two]).first()
                list.pause()
                list.then { log("\($0.value)") }
            }
            one.resolve(1)
            #expect(log.entries == ["1"])
            two.resolve(2)
        }

        @Test("P1: a paused consumer that was cancelled, and whose last handle goes, counts as unpaused")
        func lastHandleOfCancelledGoes() {
            let log = Log()
            let source = Deferred<Int>()
            let other = source.then { $0 }
            do {
                let paused = source.then { $0 }
                paused.pause()
                paused.fail { log(name(of: $0)) }
                paused.cancel()
                #expect(log.entries.isEmpty)
            }
            #expect(log.entries == ["cancelled"])
            source.resolve(1)
            #expect(outcome(other) == "1")
        }

        @Test("P1: a paused source that nothing fires any more is abandoned, and tells it")
        func abandonedWhilePaused() {
            let log = Log()
            do {
                let source = Deferred<Int>()
                source.fail { log(name(of: $0)) }
                source.pause()
            }
            #expect(log.entries == ["abandoned"])
        }

        @Test("P1: pausing one Deferred holds no other")
        func holdsNoOther() {
            let log = Log()
            let source = Deferred<Int>()
            let (one, two) = (source.then { $0 }, source.then { $0 })
            one.pause()
            one.then { _ in log("one") }
            two.then { _ in log("two") }
            source.resolve(1)
            #expect(log.entries == ["two"])
            one.unpause()
            #expect(log.entries == ["two", "one"])
        }

        @Test(
            "P1, T1: pauses and unpauses from many threads while it fires lose no callback, and keep the order"
        )
        func race() {
            for _ in 0..<100 {
                let source = Deferred<Int>()
                let seen = Box<[Int]>([])
                for index in 0..<20 { source.then { _ in seen.change { $0.append(index) } } }
                onThreads(4) { thread in
                    if thread == 0 {
                        source.resolve(1)
                    } else {
                        for _ in 0..<20 {
                            source.pause()
                            source.unpause()
                        }
                    }
                }
                #expect(seen.value == Array(0..<20))
            }
        }
    }
}
