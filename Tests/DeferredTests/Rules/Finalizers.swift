import Deferred
import Foundation
import TestSupport
import Testing

extension Rules {
    @Suite("Rules Z1, Z2, Z3: finalizers") struct Finalizers {
        @Test("Z1: it runs once, with the outcome, on value, failure, cancel and abandonment")
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

        @Test("Z1: it runs after all callbacks attached before and after it, and all downstream of them")
        func outlivesCallbacks() {
            let log = Log()
            let source = Deferred<Int>()
            source.done { _ in log("before") }.done { log("after before") }
            source.finally { log("finalizer \(outcome($0))") }
            source.done { _ in log("after") }.done { log("after after") }.done { log("last") }
            source.resolve(1)
            #expect(log.all == ["before", "after", "after before", "after after", "last", "finalizer 1"])
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
            source.map(on: queue) { log("dispatched", returning: $0) }.done(on: queue) { _ in log("again") }
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

        @Test("Z1: it waits for callbacks suspended by a pause, also from inside")
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
            second.done { _ in second.pause() }.done { log("after the pausing one") }
            second.done { _ in log("second's") }
            second.resolve(1)
            #expect(log.all.last == "finalizer")
            second.unpause()
            #expect(log.all.suffix(3) == ["second's", "after the pausing one", "finalizer 2"])
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

        @Test("Z2: several run latest added first; one further downstream before one upstream of it")
        func order() {
            let log = Log()
            let source = Deferred<Int>()
            source.finally { _ in log("first") }
            let middle = source.map { log("callback", returning: $0) }
            middle.finally { _ in log("middle's") }
            let last = middle.map { $0 }
            last.finally { _ in log("last's 1") }
            last.finally { _ in log("last's 2") }
            source.finally { _ in log("second") }
            source.resolve(1)
            #expect(log.all == ["callback", "last's 2", "last's 1", "middle's", "second", "first"])
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
    }
}
