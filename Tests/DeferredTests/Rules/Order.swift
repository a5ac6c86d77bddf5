import Deferred
import Foundation
import Testing

extension Rules {
    @Suite("Rules F3, F4, F5: the order of callbacks") struct Order {
        @Test(
            "F3: attaching to a fired Deferred runs the callback before then returns, on the attaching thread"
        )
        func attachesToFired() {
            let log = Log()
            let deferred = Deferred<Int>()
            deferred.resolve(1)
            onThread {
                let thread = Box(Thread.current)
                deferred.then { _ in
                    #expect(Thread.current === thread.value)
                    log("callback")
                }
                log("then returned")
            }
            deferred.then { _ in log("again") }
            #expect(log.entries == ["callback", "then returned", "again"])
        }

        @Test(
            "F3: attached while another thread runs a callback of the same Deferred, it runs there, in turn")
        func attachesBesideAnotherFrame() {
            let log = Log()
            let deferred = Deferred<Int>()
            let (inside, goOn) = (Gate(), Gate())
            let thread = Box<Thread?>(nil)
            deferred.then { _ in
                thread.value = Thread.current
                inside.open()
                goOn.pass()
                log("first")
            }
            deferred.then { _ in log("second") }
            let worker = Worker { deferred.resolve(1) }
            inside.pass()
            deferred.then { _ in
                #expect(Thread.current === thread.value)
                log("third")
            }
            log("then returned")
            goOn.open()
            worker.join()
            #expect(log.entries == ["then returned", "first", "second", "third"])
        }

        @Test("F3: attached where a frame has yet to run what was attached before, it waits for its turn")
        func attachesBehindWhatIsYetToRun() {
            let log = Log()
            let source = Deferred<Int>()
            let next = source.then { $0 }
            next.then { _ in log("attached before") }
            source.then { _ in
                #expect(outcome(next) == "1")
                next.then { _ in log("attached inside") }
                log("then returned")
            }
            source.resolve(1)
            #expect(log.entries == ["then returned", "attached before", "attached inside"])
        }

        @Test("F3: inside a callback, another Deferred that has fired runs what is attached to it at once")
        func attachesToAnotherInside() {
            let log = Log()
            let other = Deferred.resolved(1)
            let source = Deferred<Int>()
            source.then { _ in
                other.then { _ in log("other's") }
                log("then returned")
            }
            source.resolve(1)
            #expect(log.entries == ["other's", "then returned"])
        }

        @Test("F4: callbacks run in the order attached, and each sees the same value")
        func orderAttached() {
            let log = Log()
            let deferred = Deferred<Int>()
            for index in 0..<20 {
                if index % 3 == 0 {
                    deferred.both { log("\(index): \(outcome($0))") }
                } else {
                    _ = deferred.then {
                        log("\(index): \($0)")
                        return $0 + index
                    }
                }
            }
            deferred.resolve(7)
            #expect(log.entries == (0..<20).map { "\($0): 7" })
        }

        @Test("F4: all callbacks of one Deferred run before any further downstream")
        func breadthFirst() {
            let log = Log()
            let source = Deferred<Int>()
            let a = source.then { _ in log("a") }
            a.then { log("a1") }.then { log("a1x") }
            a.then { log("a2") }
            let b = source.then { _ in log("b") }
            b.then { log("b1") }
            source.then { _ in log("c") }
            source.resolve(1)
            #expect(log.entries == ["a", "b", "c", "a1", "a2", "b1", "a1x"])
        }

        @Test(
            "F4: however threads race to attach while it fires, each callback runs once, alone, in its thread's order"
        )
        func attachRace() {
            for _ in 0..<50 {
                let deferred = Deferred<Int>()
                let running = Box(0)
                let seen = Box<[[Int]]>([[], [], []])
                onThreads(4) { thread in
                    if thread == 3 {
                        deferred.resolve(1)
                        return
                    }
                    for index in 0..<50 {
                        deferred.then { _ in
                            running.change { $0 += 1 }
                            #expect(running.value == 1)
                            seen.change { $0[thread].append(index) }
                            running.change { $0 -= 1 }
                        }
                    }
                }
                // A frame of another thread may have run the last ones, but all threads have ended.
                #expect(seen.value == Array(repeating: Array(0..<50), count: 3))
            }
        }

        @Test(
            "F4: the turn of a callback with a dispatcher is its hand-over, in order; the others don't wait for it"
        )
        func handover() {
            let log = Log()
            let (one, two) = (HandDispatcher(), HandDispatcher())
            let deferred = Deferred<Int>()
            deferred.then { _ in log("a: \(one.count)") }
            deferred.then(on: one) { _ in log("b") }.then { log("after b") }
            deferred.then { _ in log("c: \(one.count)") }
            deferred.then(on: two) { _ in log("d") }
            deferred.then(on: one) { _ in log("e: \(one.count)") }
            deferred.resolve(1)
            #expect(log.entries == ["a: 0", "c: 1"])
            #expect((one.count, two.count) == (2, 1))
            two.runAll()
            one.runAll()
            #expect(log.entries == ["a: 0", "c: 1", "d", "b", "after b", "e: 2"])
        }

        @Test(
            "F4: a dispatcher that runs its work there and then keeps the order of those further downstream")
        func inlineDispatcher() {
            let log = Log()
            let deferred = Deferred<Int>()
            deferred.then(on: InlineDispatcher()) { _ in log("a") }.then { log("after a") }
            deferred.then { _ in log("b") }
            deferred.resolve(1)
            #expect(log.entries == ["a", "b", "after a"])
        }

        @Test("F4: what follows from a dispatched callback goes on on the dispatcher's thread")
        func dispatchedThread() {
            let queue = HandDispatcher()
            let threads = Box<[Thread]>([])
            let deferred = Deferred<Int>()
            deferred.then(on: queue) { _ in threads.change { $0.append(.current) } }
                .then { threads.change { $0.append(.current) } }
            deferred.resolve(1)
            let worker = Box<Thread?>(nil)
            onThread {
                worker.value = .current
                queue.runAll()
            }
            #expect(threads.value.count == 2)
            #expect(threads.value.allSatisfy { $0 === worker.value })
        }

        @Test(
            "F4: work that a dispatcher lets go of without running it fails its link with .abandoned, and is not run"
        )
        func droppedWork() {
            let log = Log()
            let deferred = Deferred<Int>()
            let queue = HandDispatcher()
            let later = deferred.then(on: queue) {
                log("ran")
                return $0
            }
            let atOnce = deferred.then(on: DroppingDispatcher()) {
                log("ran")
                return $0
            }
            atOnce.fail { log("at once: \(name(of: $0))") }
            later.fail { log("later: \(name(of: $0))") }
            deferred.then { _ in log("other") }
            deferred.resolve(1)
            #expect(log.entries == ["other", "at once: abandoned"])
            queue.drop()
            #expect(log.entries.last == "later: abandoned")
            #expect(log.entries.count == 3)
            #expect(outcome(atOnce) == "abandoned")
        }

        @Test("F4: a dispatcher that runs its work twice runs the callback once")
        func workRunTwice() {
            let log = Log()
            let queue = HandDispatcher()
            let deferred = Deferred.resolved(1)
            let link = deferred.then(on: queue) {
                log("ran")
                return $0
            }
            let work = queue.take()
            work?()
            work?()
            #expect(log.entries == ["ran"])
            #expect(outcome(link) == "1")
        }

        @Test("F5: attached from inside a running callback of the same Deferred, it runs after that returns")
        func attachesInside() {
            let log = Log()
            let deferred = Deferred<Int>()
            deferred.then { _ in
                deferred.then { _ in
                    deferred.then { _ in log("inner inside") }
                    log("inner")
                }
                log("outer")
            }
            deferred.then { _ in log("second") }
            deferred.resolve(1)
            #expect(log.entries == ["outer", "second", "inner", "inner inside"])
        }

        @Test("F5: the same when the running callback was attached to a fired Deferred")
        func attachesInsideOfFired() {
            let log = Log()
            let deferred = Deferred.resolved(1)
            deferred.then { _ in
                deferred.then { _ in log("inner") }
                log("outer")
            }
            #expect(log.entries == ["outer", "inner"])
        }

        @Test("F5: all attached from inside run before any callback further downstream")
        func attachedInsideBeforeDownstream() {
            let log = Log()
            let deferred = Deferred<Int>()
            deferred.then { _ in deferred.then { _ in log("inside") } }.then { log("downstream") }
            deferred.resolve(1)
            #expect(log.entries == ["inside", "downstream"])
        }

        @Test("F5: firing another Deferred inside a callback runs that one's callbacks at once")
        func firesInside() {
            let log = Log()
            let (outer, inner) = (Deferred<Int>(), Deferred<Int>())
            inner.then { log("inner \($0)") }.then { log("after inner") }
            outer.then { _ in
                inner.resolve(2)
                log("resolve returned")
            }
            outer.then { _ in log("second") }
            outer.resolve(1)
            #expect(log.entries == ["inner 2", "after inner", "resolve returned", "second"])
        }
    }
}
