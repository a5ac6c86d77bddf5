import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    @Suite("Rule D5: lists that share a semaphore") struct SharedLimits {
        let log = Log()

        /// A list of which each element is logged when it starts, and settles when its work does.
        func list(
            _ name: String, _ works: [Deferred<Int>], _ semaphore: DeferredSemaphore,
            cancelsRemaining: Bool = false
        ) -> DeferredList<Int> {
            DeferredList(works.indices, limit: semaphore, cancelsRemaining: cancelsRemaining) {
                [log] number in
                log("\(name)\(number)")
                return works[number]
            }
        }

        func works(_ count: Int) -> [Deferred<Int>] { (0..<count).map { _ in Deferred<Int>() } }

        @Test("D5, Q1: lists and runs that share a semaphore are served in the order in which they ask")
        func shares() throws {
            let semaphore = DeferredSemaphore(2)
            let (a, b) = (works(3), works(2))
            let first = list("a", a, semaphore).values()
            let second = list("b", b, semaphore).values()
            let run = semaphore.syncRun { [log] in log("run") }
            #expect(log.all == ["a0", "a1"] && semaphore.waitingCount == 3)
            a[1].resolve(1)
            #expect(log.all == ["a0", "a1", "a2"], "the first list had asked before the second")
            a[0].resolve(0)
            #expect(log.all.last == "b0")
            a[2].resolve(2)
            #expect(try successResult(of: first) == [0, 1, 2])
            #expect(log.all.suffix(2) == ["run", "b1"])
            for (number, work) in b.enumerated() { work.resolve(number) }
            #expect(try successResult(of: second) == [0, 1])
            try successResult(of: run)
            #expect(semaphore.availableCount == 2 && semaphore.waitingCount == 0)
        }

        @Test("D5: the limit of a list can be changed while it is in progress")
        func changes() throws {
            let semaphore = DeferredSemaphore(1)
            let a = works(7)
            let values = list("a", a, semaphore).values()
            #expect(log.all == ["a0"])
            semaphore.limit = 3
            #expect(log.all == ["a0", "a1", "a2"])
            semaphore.limit = 1
            a[0].resolve(0)
            a[1].resolve(1)
            #expect(log.all.count == 3)
            a[2].resolve(2)
            #expect(log.all.last == "a3")
            for number in 3..<7 { a[number].resolve(number) }
            #expect(try successResult(of: values) == Array(0..<7))
            #expect(semaphore.availableCount == 1)
        }

        @Test(
            "D5: a lazy sequence gives its next element only when there is a permit; an endless one is fine")
        func lazy() {
            let semaphore = DeferredSemaphore(2)
            let held = semaphore.tryAcquire(units: 2)
            let taken = Log()
            let list = DeferredList(
                (0...).lazy.map {
                    taken("\($0)"); return $0
                }, limit: semaphore
            ) { _ in
                Deferred<Int>.never()
            }
            let first = list.first()
            #expect(taken.all == ["0"] && semaphore.waitingCount == 1, "the list might have been empty")
            held?.release()
            #expect(taken.all == ["0", "1"])
            first.cancel()
            #expect(semaphore.waitingCount == 0)
            #expect(outcome(first.map { $0.value }) == "cancelled")
            list.cancel()
            #expect(semaphore.availableCount == 2)
        }

        @Test("D1, D5: a list without inputs, or whose inputs have all settled, needs no permit to end")
        func ends() throws {
            let semaphore = DeferredSemaphore(1)
            let held = semaphore.tryAcquire()
            #expect(outcome(list("a", [], semaphore).values()) == "[]")
            #expect(outcome(list("a", [], semaphore).first().map(\.index)) == "empty")
            let b = works(1)
            let values = list("b", b, semaphore).values()
            let last = semaphore.run { Deferred<Int>.never() }
            held?.release()
            b[0].resolve(7)
            #expect(try successResult(of: values) == [7])
            #expect(semaphore.availableCount == 0)
            last.cancel()
        }

        @Test(
            "C7, D5: a list that is cancelled leaves the semaphore's queue and starts nothing",
            arguments: 0..<3)
        func cancelled(way: Int) {
            let semaphore = DeferredSemaphore(1)
            let a = works(3)
            let shared = list("a", a, semaphore)
            let results = shared.results()
            let second = semaphore.run { [log] () -> Deferred<Int> in
                log("second")
                return .never()
            }
            switch way {
            case 0: results.cancel()
            case 1: shared.cancel()
            default: DeferredList([results.map { _ in 0 }, second]).values().cancel()
            }
            #expect(log.all == (way == 2 ? ["a0"] : ["a0", "second"]))
            #expect(outcome(a[0]) == "cancelled" && semaphore.waitingCount == 0)
            second.cancel()
            #expect(semaphore.availableCount == 1)
        }

        @Test(
            "C7, D5: a permit that comes to a list that was cancelled passes on, also while its sequence runs"
        )
        func lateForCancelled() {
            let semaphore = DeferredSemaphore(1)
            let work = Deferred<Int>()
            let results = SpinLocked<Deferred<[Result<Int, any Error>]>?>(nil)
            let elements = (0..<3).lazy.map { [log] number in
                guard number == 1 else { return number }
                // The first input has ended, and still has its permit; the list waits for the next.
                results.withLock { $0 }?.cancel()
                semaphore.limit = 2
                log("free: \(semaphore.availableCount), waiting: \(semaphore.waitingCount)")
                return number
            }
            let list = DeferredList(elements, limit: semaphore) { [log] number in
                log("a\(number)")
                return work
            }
            results.withLock { $0 = list.results() }
            let next = semaphore.run { [log] () -> Deferred<Int> in
                log("next")
                return .never()
            }
            work.resolve(0)
            #expect(log.all == ["a0", "next", "free: 0, waiting: 0"])
            #expect(semaphore.availableCount == 1)
            next.cancel()
            #expect(semaphore.availableCount == 2)
        }

        @Test(
            "C7, D3: a permit of the input that decides a list admits nobody whom the list, or another, cancels"
        )
        func decides() {
            let semaphore = DeferredSemaphore(1)
            let a = works(1)
            let inner = list("a", a, semaphore).values().map { _ in 1 }
            let waiting = semaphore.run { [log] () -> Deferred<Int> in
                log("waiting")
                return .never()
            }
            let first = DeferredList([inner, waiting], cancelsRemaining: true).first()
            a[0].resolve(1)
            #expect(outcome(first.map { $0.index }) == "0")
            #expect(log.all == ["a0"] && outcome(waiting) == "cancelled" && semaphore.availableCount == 1)
        }

        @Test("V3: an input that a decided list no longer needs has its permit until it is settled")
        func leftInput() {
            let semaphore = DeferredSemaphore(2)
            let a = works(2)
            let first = list("a", a, semaphore).first()
            a[1].resolve(1)
            #expect(outcome(first.map { $0.index }) == "1")
            #expect(semaphore.availableCount == 1)
            a[0].map { $0 }.cancel()
            #expect(outcome(a[0]) == "cancelled", "the list consumes it no longer")
            #expect(semaphore.availableCount == 2)
        }

        @Test("rejectWaiting ends a list that waits: its error stands for what was never started")
        func rejected() throws {
            let semaphore = DeferredSemaphore(1)
            let a = works(3)
            let (results, values) = (list("a", a, semaphore).results(), list("b", a, semaphore).values())
            let seen = reports {
                semaphore.rejectWaiting(with: Boom(7))
                #expect(outcome(values) == "Boom(7)")
                a[0].resolve(0)
                #expect(outcome(results.map { $0.map(outcome) }) == #"["0", "Boom(7)", "Boom(7)"]"#)
            }
            #expect(seen.isEmpty && log.all == ["a0"] && semaphore.availableCount == 1)
        }

        @Test("a limit below 1 is refused by name at every result", arguments: [0, -1])
        func invalid(limit: Int) {
            let semaphore = DeferredSemaphore(limit)
            let values = list("a", works(1), semaphore).values()
            #expect(
                throws: DeferredError.invalidArgument("a semaphore's limit must be 1 or more, is \(limit)")
            ) { try values.currentResult?.get() }
            #expect(log.all.isEmpty)
        }

        @Test("F6: many inputs that are settled at once, with permits, take no stack")
        func long() throws {
            let semaphore = DeferredSemaphore(3)
            let held = semaphore.tryAcquire(units: 3)
            let values = DeferredList(0..<Extent.depth, limit: semaphore) { Deferred.resolved($0) }.values()
            held?.release()
            #expect(try successResult(of: values).count == Extent.depth)
            #expect(semaphore.availableCount == 3)
        }

        @Test("T1: lists on several threads share a semaphore, and its limit is never exceeded")
        func threads() {
            for _ in 0..<50 {
                let semaphore = DeferredSemaphore(2)
                let inside = SpinLocked((now: 0, most: 0))
                onThreads(4) { thread in
                    let values = DeferredList(0..<20, limit: semaphore) { number -> Deferred<Int> in
                        inside.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                        return Deferred.resolved(number).always { _ in inside.withLock { $0.now -= 1 } }
                    }
                    if thread == 3 { values.first().cancel() } else { _ = try? values.values().wait() }
                }
                #expect(inside.withLock { $0.now == 0 && $0.most <= 2 })
                #expect(semaphore.availableCount == 2 && semaphore.waitingCount == 0)
            }
        }
    }
}
