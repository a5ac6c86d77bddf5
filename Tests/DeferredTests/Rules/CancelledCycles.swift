import Deferred
import Testing

extension Rules {
    @Suite("Rule L5: cancelled cycles", .timeLimit(.minutes(5))) struct CancelledCycles {
        @Test("C5, L5: a link cancelled in the callback with which it closes a cycle ends with the cancel")
        func cancelledWhileRunning() {
            let (one, two) = (Deferred<Int>(), Deferred<Int>())
            let second = Box<Deferred<Int>?>(nil)
            let first = one.then { _ in second.value! }
            second.value = two.then { _ in
                second.value!.cancel()
                return first
            }
            one.resolve(1)
            two.resolve(2)
            #expect(outcome(first) == "cancelled")
            #expect(outcome(second.value!) == "cancelled")
            second.value = nil
        }

        @Test("C5, L5: the same if the cycle includes a Deferred that follows, and a shield")
        func following() {
            let (one, two) = (Deferred<Int>(), Deferred<Int>())
            let link = Box<Deferred<Int>?>(nil)
            link.value = one.then { _ in
                link.value!.cancel()
                return two
            }
            two.follow(link.value!)
            one.resolve(1)
            #expect(outcome(link.value!) == "cancelled")
            #expect(outcome(two) == "cancelled")

            let three = Deferred<Int>()
            let shielded = Box<Deferred<Int>?>(nil)
            shielded.value = three.then { _ in
                shielded.value!.cancel()
                return shielded.value!.shielded()
            }
            three.resolve(1)
            #expect(outcome(shielded.value!) == "cancelled")
            link.value = nil
            shielded.value = nil
        }

        @Test("L5: a cancelled source that follows what waits for it")
        func sourceFollows() {
            let source = Deferred<Int>()
            let link = source.map { $0 }
            link.cancel()
            let other = Deferred<Int>()
            let chain = other.map { $0 }
            other.follow(chain)
            chain.cancel()
            #expect([outcome(link), outcome(other), outcome(chain)] == ["cancelled", "cycle", "cycle"])
        }

        @Test("L5: an input of a limited list that waits for the list itself fails with .cycle")
        func limitedList() {
            let holder = Box<Deferred<Int>?>(nil)
            let first = Deferred<Int>()
            let list = DeferredList(0..<2, limit: 1) { $0 == 0 ? first : holder.value! }
            holder.value = list.values().map { $0.count }
            first.resolve(1)
            #expect(outcome(holder.value!) == "cycle")

            let results = DeferredList(0..<2, limit: 1) { $0 == 0 ? .resolved(0) : holder.value! }
            let pending = Deferred<Int>()
            holder.value = pending.then { _ in results.results().map { $0.count } }
            pending.resolve(1)
            #expect(outcome(holder.value!) == "cycle")
            holder.value = nil
        }

        @Test("L5, T1: two threads that close one cycle while a third cancels a link of it")
        func race() {
            for _ in 0..<300 {
                let sources = (0..<2).map { _ in Deferred<Int>() }
                let links = Box<[Deferred<Int>]>([])
                links.value = (0..<2).map { index in
                    sources[index].then { _ in links.value[1 - index] }
                }
                let all = links.value
                onThreads(3) { thread in
                    if thread < 2 { sources[thread].resolve(1) } else { all[0].cancel() }
                }
                for link in all { #expect(["cycle", "cancelled"].contains(outcome(link))) }
                links.value = []
            }
        }
    }
}
