import Deferred
import DeferredTesting
import Foundation
import TestSupport
import Testing

extension Rules {
    @Suite("Rules F3, F4, F5: the order of callbacks") struct Order {
        @Test("F3: attaching to a settled Deferred runs the callback before the call returns, on its thread")
        func attachesToSettled() {
            let log = Log()
            let deferred = Deferred<Int>()
            deferred.resolve(1)
            onThread {
                let thread = Box(Thread.current)
                deferred.done { _ in
                    #expect(Thread.current === thread.value)
                    log("callback")
                }
                log("then returned")
            }
            deferred.done { _ in log("again") }
            #expect(log.all == ["callback", "then returned", "again"])
        }

        @Test("F3: attached while another thread runs a callback of that Deferred, it runs there, in order")
        func attachesBesideAnotherFrame() {
            let log = Log()
            let deferred = Deferred<Int>()
            let (inside, goOn) = (Gate(), Gate())
            let thread = Box<Thread?>(nil)
            deferred.done { _ in
                thread.value = Thread.current
                inside.open()
                goOn.pass()
                log("first")
            }
            deferred.done { _ in log("second") }
            let worker = Worker { deferred.resolve(1) }
            inside.pass()
            deferred.done { _ in
                #expect(Thread.current === thread.value)
                log("third")
            }
            log("then returned")
            goOn.open()
            worker.join()
            #expect(log.all == ["then returned", "first", "second", "third"])
        }

        @Test("F3: attached while a drain loop has yet to run an earlier callback, it is queued behind that")
        func attachesBehindWhatIsYetToRun() {
            let log = Log()
            let source = Deferred<Int>()
            let next = source.map { $0 }
            next.done { _ in log("attached before") }
            source.done { _ in
                #expect(outcome(next) == "1")
                next.done { _ in log("attached inside") }
                log("then returned")
            }
            source.resolve(1)
            #expect(log.all == ["then returned", "attached before", "attached inside"])
        }

        @Test("F4: a callback with a dispatcher is submitted at its position; the others do not wait for it")
        func handover() {
            let log = Log()
            let (one, two) = (ManualDispatcher(), ManualDispatcher())
            let deferred = Deferred<Int>()
            deferred.done { _ in log("a: \(one.count)") }
            deferred.done(on: one) { _ in log("b") }.done { log("after b") }
            deferred.done { _ in log("c: \(one.count)") }
            deferred.done(on: two) { _ in log("d") }
            deferred.done(on: one) { _ in log("e") }
            deferred.resolve(1)
            #expect(log.all == ["a: 0", "c: 1"])
            #expect((one.count, two.count) == (2, 1))
            two.run()
            one.run()
            #expect(log.all == ["a: 0", "c: 1", "d", "b", "after b", "e"])
        }

        @Test("F4: callbacks downstream of a dispatched callback run on the dispatcher's thread")
        func dispatchedThread() {
            let (queue, threads) = (ManualDispatcher(), Box<[Thread]>([]))
            let deferred = Deferred.resolved(1)
            deferred.done(on: queue) { _ in threads.change { $0.append(.current) } }
                .done { threads.change { $0.append(.current) } }
            onThread {
                queue.run()
                #expect(threads.value == [.current, .current])
            }
        }

        @Test("F4: work that a dispatcher releases without running it fails its link with .abandoned")
        func droppedWork() {
            let (log, queue) = (Log(), ManualDispatcher())
            let deferred = Deferred<Int>()
            let later = deferred.map(on: queue) { log("ran", returning: $0) }
            let atOnce = deferred.map(on: DroppingDispatcher()) { log("ran", returning: $0) }
            deferred.done { _ in log("other") }
            deferred.resolve(1)
            #expect([later, atOnce].map(outcome) == ["pending", "abandoned"])
            queue.dropAll()
            #expect(outcome(later) == "abandoned")
            #expect(log.all == ["other"])
        }

        @Test("F4: a dispatcher that runs its work twice runs the callback once")
        func workRunTwice() {
            struct Twice: Dispatcher {
                func dispatch(_ work: @escaping @Sendable () -> Void) {
                    work()
                    work()
                }
            }
            let log = Log()
            #expect(outcome(Deferred.resolved(1).map(on: Twice()) { log("ran", returning: $0) }) == "1")
            #expect(log.all == ["ran"])
        }
    }
}
