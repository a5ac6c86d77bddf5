import Deferred
import Foundation
import TestSupport
import Testing

extension Rules {
    @Suite("Rules Z1, Z2, Z3: finalizers") struct Finalizers {
        @Test(
            "Z1: a finalizer runs once, with the outcome, on value, failure, cancel and abandonment; finally returns the same handle"
        )
        func everyOutcome() {
            let log = Log()
            var source: Deferred<Int>? = Deferred<Int>()
            #expect(source!.finally { log(outcome($0)) } == source!)
            source!.resolve(1)
            source = Deferred<Int>()
            source!.finally { log(outcome($0)) }
            source!.reject(Boom(1))
            source!.fail { _ in }
            source = Deferred<Int>(canceller: { _ in log("canceller") })
            source!.finally { log(outcome($0)) }
            source!.cancel()
            source = Deferred<Int>()
            source!.finally { log(outcome($0)) }
            source = nil
            #expect(log.all == ["1", "Boom(1)", "canceller", "cancelled", "abandoned"])
        }

        @Test(
            "Z1: it runs after every callback attached by then, before or after it, and all downstream of them"
        )
        func outlivesCallbacks() {
            let log = Log()
            let source = Deferred<Int>()
            source.done { _ in log("before") }.done { log("after before") }
            source.finally { log("finalizer \(outcome($0))") }
            source.done { _ in log("after") }.done { log("after after") }.done { log("last") }
            source.resolve(1)
            #expect(log.all == ["before", "after", "after before", "after after", "last", "finalizer 1"])
        }

        @Test("Z1: it runs the same whether handles are retained or not")
        func withoutHandles() {
            let log = Log()
            let (deferred, resolver) = Deferred<Int>.withResolver()
            do {
                let handle = deferred
                handle.finally { _ in log("finalizer") }
                handle.done { _ in log("callback") }
            }
            resolver.resolve(1)
            #expect(log.all == ["callback", "finalizer"])
            keep(deferred)

            var dropped: Deferred<Int>? = Deferred<Int>()
            let kept = dropped!.map { $0 }
            dropped!.finally { _ in log("second") }
            dropped = nil
            #expect(log.all.last == "second")
            #expect(outcome(kept) == "abandoned")
        }

        @Test(
            "Z1: it outlives a nested wait, added before or after the callback that waits",
            arguments: [true, false])
        func outlivesNestedWait(isAddedFirst: Bool) {
            let log = Log()
            let source = Deferred<Int>()
            let inner = Deferred<Int>()
            let innermost = Deferred<Int>()
            if isAddedFirst { source.finally { _ in log("finalizer") } }
            source.then { _ in inner }.then { _ in innermost }.done { _ in log("last") }
            if !isAddedFirst { source.finally { _ in log("finalizer") } }
            source.resolve(1)
            #expect(log.all.isEmpty)
            inner.resolve(2)
            #expect(log.all.isEmpty)
            innermost.resolve(3)
            #expect(log.all == ["last", "finalizer"])
        }

        @Test("Z1: it outlives a dispatched callback and what follows from it")
        func outlivesDispatched() {
            let log = Log()
            let queue = StoringDispatcher()
            let source = Deferred<Int>()
            source.finally { _ in log("finalizer") }
            source.map(on: queue) {
                log("dispatched"); return $0
            }.done(on: queue) { _ in log("again") }
            source.resolve(1)
            queue.runNext()
            #expect(log.all == ["dispatched"])
            queue.runNext()
            #expect(log.all == ["dispatched", "again", "finalizer"])
        }

        @Test("Z1: work that its dispatcher drops lets the finalizer run, after what follows from that")
        func outlivesDroppedWork() {
            let log = Log()
            let queue = StoringDispatcher()
            let source = Deferred<Int>()
            source.finally { _ in log("finalizer") }
            source.done(on: queue) { _ in log("dispatched") }.fail { log(name(of: $0)) }
            source.resolve(1)
            #expect(log.all.isEmpty)
            queue.drop()
            #expect(log.all == ["abandoned", "finalizer"])
        }

        @Test(
            "Z1: it waits for callbacks suspended by a pause: of the same Deferred, further down, or from inside"
        )
        func outlivesPaused() {
            let log = Log()
            let source = Deferred<Int>()
            source.finally { _ in log("finalizer") }
            source.pause()
            source.done { _ in log("callback") }
            source.resolve(1)
            #expect(log.all.isEmpty)
            source.unpause()
            #expect(log.all == ["callback", "finalizer"])

            let second = Deferred<Int>()
            second.finally { _ in log("finalizer 2") }
            let paused = second.map { $0 }
            paused.pause()
            paused.done { _ in log("held") }
            second.resolve(1)
            #expect(log.all.last == "finalizer")
            paused.unpause()
            #expect(log.all.suffix(2) == ["held", "finalizer 2"])

            let third = Deferred<Int>()
            third.finally { _ in log("finalizer 3") }
            third.done { _ in third.pause() }.done { log("after the pausing one") }
            third.done { _ in log("third's") }
            third.resolve(1)
            #expect(log.all.last == "finalizer 2")
            third.unpause()
            #expect(log.all.suffix(3) == ["third's", "after the pausing one", "finalizer 3"])
        }

        @Test("Z1: it outlives chains that wait for it, and lists and followers that this firing completes")
        func outlivesWhatWaits() {
            let log = Log()
            let source = Deferred<Int>()
            source.finally { _ in log("finalizer") }
            Deferred.resolved(0).then { _ in source }.done { _ in log("nested") }
            DeferredList([source, .resolved(2)]).values().done { log("list \($0)") }
            gather(source).done { log("gathered \($0)") }
            let follower = Deferred<Int>()
            follower.follow(source)
            follower.done { _ in log("follower's") }
            source.resolve(1)
            #expect(log.all.last == "finalizer")
            #expect(log.all.dropLast().sorted() == ["follower's", "gathered 1", "list [1, 2]", "nested"])
        }

        @Test("Z1: a list that waits for more than this firing is not waited for")
        func pendingListIsNotWaitedFor() {
            let log = Log()
            let (source, other) = (Deferred<Int>(), Deferred<Int>())
            source.finally { _ in log("finalizer") }
            DeferredList([source, other]).values().done { _ in log("list") }
            source.resolve(1)
            #expect(log.all == ["finalizer"])
            other.resolve(2)
            #expect(log.all == ["finalizer", "list"])
        }

        @Test("Z1: on a chain whose recursion waits again and again it runs after the last step")
        func outlivesRecursion() {
            let log = Log()
            let steps = (0..<10).map { _ in Deferred<Int>() }
            @Sendable func loop(_ index: Int) -> Deferred<Int> {
                steps[index].then { _ in index == 9 ? .resolved(7) : loop(index + 1) }
            }
            let source = Deferred<Int>()
            source.finally { _ in log("finalizer") }
            source.then { _ in loop(0) }.done { log("\($0)") }
            source.resolve(1)
            for step in steps {
                #expect(log.all.isEmpty)
                step.resolve(0)
            }
            #expect(log.all == ["7", "finalizer"])
        }

        @Test("Z1: one that coincides with a cancel and a late result runs once, with CancellationError")
        func cancelAndLateResult() {
            let log = Log()
            let (deferred, resolver) = Deferred<Int>.withResolver()
            deferred.finally { log("finalizer \(outcome($0))") }
            let recovered = Deferred<Int>()
            deferred.orElse { _ in recovered }.done { _ in log("recovered") }
            deferred.cancel()
            #expect(log.all.isEmpty)
            #expect(!resolver.resolve(1))
            #expect(log.all.isEmpty)
            recovered.resolve(2)
            #expect(log.all == ["recovered", "finalizer cancelled"])
        }

        @Test("Z1: cancelling the chain it waits for lets it run after the errbacks")
        func cancelOfNestedWait() {
            let log = Log()
            let source = Deferred<Int>()
            let inner = Deferred<Int>(canceller: { _ in log("canceller") })
            source.finally { log("finalizer \(outcome($0))") }
            let last = source.then { _ in inner }.recover { error -> Int in
                log(name(of: error))
                throw error
            }
            source.resolve(1)
            last.cancel()
            #expect(log.all == ["canceller", "cancelled", "finalizer 1"])
        }

        @Test("Z1: a cancel that stops at a fork does not run the fork's finalizer")
        func forkIsNotFired() {
            let log = Log()
            let source = Deferred<Int>()
            source.finally { _ in log("source's") }
            let one = source.map { $0 }
            one.finally { log("one's \(outcome($0))") }
            source.done { _ in log("two") }
            one.cancel()
            #expect(log.all == ["one's cancelled"])
            source.resolve(1)
            #expect(log.all == ["one's cancelled", "two", "source's"])
        }

        @Test("Z1: callbacks attached while the callbacks run are waited for too")
        func attachedMeanwhile() {
            let log = Log()
            let source = Deferred<Int>()
            source.finally { _ in log("finalizer") }
            source.done { _ in
                source.done { _ in log("inside") }
                log("outside")
            }
            source.resolve(1)
            #expect(log.all == ["outside", "inside", "finalizer"])
        }

        @Test("Z1: with a dispatcher it runs there; what drops it runs it, and it runs once")
        func dispatchedFinalizer() {
            let log = Log()
            let queue = StoringDispatcher()
            let source = Deferred<Int>()
            source.finally(on: queue) { log("dispatched \(outcome($0))") }
            source.done { _ in log("callback") }
            source.resolve(1)
            #expect(log.all == ["callback"])
            queue.runAll()
            #expect(log.all == ["callback", "dispatched 1"])
            let dropped = Deferred<Int>()
            dropped.finally(on: DroppingDispatcher()) { _ in log("dropped") }
            dropped.resolve(1)
            #expect(log.all.last == "dropped")
            #expect(log.all.count == 3)
        }

        @Test("Z1: its thread is the one on which the last of what follows has settled")
        func thread() {
            let thread = Box<Thread?>(nil)
            let source = Deferred<Int>()
            let inner = Deferred<Int>()
            source.finally { _ in thread.value = .current }
            _ = source.then { _ in inner }
            source.resolve(1)
            onThread {
                inner.resolve(2)
                #expect(thread.value === Thread.current)
            }
        }

        @Test(
            "Z2: several on one Deferred run latest added first; one further downstream before one upstream of it"
        )
        func order() {
            let log = Log()
            let source = Deferred<Int>()
            source.finally { _ in log("first") }
            let middle = source.map {
                log("callback"); return $0
            }
            middle.finally { _ in log("middle's") }
            let last = middle.map { $0 }
            last.finally { _ in log("last's 1") }
            last.finally { _ in log("last's 2") }
            source.finally { _ in log("second") }
            source.resolve(1)
            #expect(log.all == ["callback", "last's 2", "last's 1", "middle's", "second", "first"])
        }

        @Test("Z2: the same where the one downstream has to wait")
        func orderWithWait() {
            let log = Log()
            let (source, inner) = (Deferred<Int>(), Deferred<Int>())
            source.finally { _ in log("source's") }
            let middle = source.then { _ in inner }
            middle.finally { _ in log("middle's") }
            middle.done { _ in log("callback") }
            source.resolve(1)
            #expect(log.all.isEmpty)
            inner.finally { _ in log("inner's") }
            inner.resolve(1)
            #expect(log.all.first == "callback")
            #expect(log.all.firstIndex(of: "middle's")! < log.all.firstIndex(of: "source's")!)
            #expect(log.all.firstIndex(of: "middle's")! < log.all.firstIndex(of: "inner's")!)
        }

        @Test("Z3: added to a fired Deferred it runs at once: idle, while its callbacks run, or while paused")
        func addedToFired() {
            let log = Log()
            let fired = Deferred.resolved(1)
            fired.finally { log("idle \(outcome($0))") }
            #expect(log.all == ["idle 1"])

            let source = Deferred<Int>()
            source.done { _ in
                source.finally { _ in log("inside") }
                log("callback")
            }
            source.done { _ in log("second") }
            source.resolve(1)
            #expect(log.all == ["idle 1", "inside", "callback", "second"])

            let paused = Deferred<Int>()
            paused.pause()
            paused.done { _ in log("held") }
            paused.resolve(1)
            paused.finally { _ in log("paused") }
            #expect(log.all.last == "paused")
            paused.unpause()
            #expect(log.all.last == "held")
        }

        @Test("Z3: what is attached after a finalizer has run works as ever")
        func attachedAfter() {
            let log = Log()
            let source = Deferred<Int>()
            source.finally { _ in log("finalizer") }
            source.resolve(1)
            source.done { log("\($0)") }.done { log("after") }
            source.finally { _ in log("another") }
            #expect(log.all == ["finalizer", "1", "after", "another"])
        }

        @Test("Z1, T1: it runs once and last, however threads race to fire and attach")
        func race() {
            for _ in 0..<200 {
                let source = Deferred<Int>()
                let inner = Deferred<Int>()
                let log = Log()
                source.finally { _ in log("finalizer") }
                source.then { _ in inner }.done { _ in log("nested") }
                source.done { _ in log("callback") }
                onThreads(2) { _ = $0 == 0 ? source.resolve(1) : inner.resolve(2) }
                #expect(log.all.count == 3)
                #expect(log.all.last == "finalizer")
            }
        }
    }
}
