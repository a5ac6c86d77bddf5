import Deferred
import DeferredTesting
import Foundation
import Testing

extension Rules {
    @Suite("Rule P1: pausing") struct Pausing {
        @Test("P1: a paused Deferred may be completed, and shows it, but notifies nothing until unpaused")
        func holdsEverything() {
            let log = Log()
            let source = Deferred<Int>()
            source.done { log("callback \($0)") }
            let pair = source.map({ $0 }, recover: { _ in 0 })
            let nested = Deferred.resolved(0).then { _ in source }
            let list = DeferredList([source]).values()
            let follower = Deferred<Int>()
            follower.follow(source)
            let shielded = source.shielded()
            let queue = ManualDispatcher()
            source.done(on: queue) { log("dispatched \($0)") }
            source.pause()
            #expect(source.resolve(1))
            #expect(outcome(source) == "1")
            let attachedLater = source.map { $0 }
            let listedLater = gather(source, source).map { $0 + $1 }
            let followerLater = Deferred<Int>()
            followerLater.follow(source)
            let nestedLater = Deferred.resolved(0).then { _ in source }
            func outcomes() -> [String] {
                [pair, nested, follower, shielded, attachedLater, followerLater, nestedLater].map(outcome)
                    + [outcome(list), outcome(listedLater)]
            }
            #expect(outcomes() == Array(repeating: "pending", count: 9))
            #expect(log.all.isEmpty)
            #expect(queue.count == 0)
            source.unpause()
            #expect(outcomes() == Array(repeating: "1", count: 7) + ["[1]", "2"])
            queue.run()
            #expect(log.all == ["callback 1", "dispatched 1"])
        }

        @Test("P1: the last unpause runs the suspended callbacks, on its thread, before it returns")
        func runsOnUnpausingThread() {
            let log = Log()
            let thread = Box<Thread?>(nil)
            let source = Deferred<Int>()
            source.pause()
            source.done { _ in
                thread.value = .current
                log("callback")
            }
            source.resolve(1)
            onThread {
                source.unpause()
                log("unpause returned")
                #expect(thread.value === Thread.current)
            }
            #expect(log.all == ["callback", "unpause returned"])
        }

        @Test("P1: one unpause too many is ignored and reported")
        func unbalanced() {
            let madeAt = #line + 1
            let source = Deferred<Int>()
            source.pause()
            source.unpause()
            #expect(reports { source.unpause() }.map(words) == ["\(madeAt) not paused at \(#line)"])
            source.pause()
            source.resolve(1)
            let position = source.map { $0 }
            #expect(outcome(position) == "pending")
            source.unpause()
            #expect(outcome(position) == "1")
        }

        @Test(
            "P1: when the last handle that could unpause it is released, it counts as unpaused",
            arguments: [true, false])
        func lastHandleGoes(isCompletedBefore: Bool) {
            let (log, source) = (Log(), Deferred<Int>())
            var paused: Deferred<Int>? = source.map { $0 }
            paused!.pause()
            paused!.done { log("callback \($0)") }.done { log("downstream") }
            paused!.finally { _ in log("finalizer") }
            if isCompletedBefore { source.resolve(1) } else { paused = nil }
            #expect(log.all.isEmpty)
            if isCompletedBefore { paused = nil } else { source.resolve(1) }
            #expect(log.all == ["callback 1", "downstream", "finalizer"])
        }

        @Test(
            "P1: a paused source without handles counts as unpaused; its Resolver could not unpause it",
            arguments: [true, false])
        func lastHandleOfSourceGoes(isCompletedBefore: Bool) {
            let log = Log()
            var deferred: Deferred<Int>?
            let resolver: Deferred<Int>.Resolver
            (deferred, resolver) = Deferred<Int>.withResolver()
            deferred!.pause()
            deferred!.done { log("\($0)") }
            if isCompletedBefore { resolver.resolve(1) }
            #expect(log.all.isEmpty)
            deferred = nil
            if !isCompletedBefore { resolver.resolve(1) }
            #expect(log.all == ["1"])
            keep(resolver)
        }
    }
}
