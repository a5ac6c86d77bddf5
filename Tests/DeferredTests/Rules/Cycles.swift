import Deferred
import Testing

extension Rules {
    @Suite("Rule L5: cycles", .timeLimit(.minutes(5))) struct Cycles {
        @Test("L5: a callback that returns the link's own Deferred fails it with .cycle")
        func ringOfOne() {
            let source = Deferred<Int>()
            let own = Box<Deferred<Int>?>(nil)
            let link = source.then { _ in own.value! }
            own.value = link
            let after = link.map { $0 }
            source.resolve(1)
            #expect([outcome(link), outcome(after)] == ["cycle", "cycle"])
        }

        @Test("L5: a cycle of two, and of three, whichever closes it", arguments: [2, 3, 10])
        func ringOf(count: Int) {
            for start in 0..<count {
                let sources = (0..<count).map { _ in Deferred<Int>() }
                let links = Box<[Deferred<Int>]>([])
                for index in 0..<count {
                    let next = (index + 1) % count
                    links.change { $0.append(sources[index].then { _ in links.value[next] }) }
                }
                let watched = links.value.map {
                    $0.recover { error in
                        #expect(name(of: error) == "cycle")
                        return -1
                    }
                }
                for offset in 0..<count { sources[(start + offset) % count].resolve(1) }
                #expect(links.value.map(outcome) == Array(repeating: "cycle", count: count))
                #expect(watched.map(outcome) == Array(repeating: "-1", count: count))
                links.value = []
            }
        }

        @Test("L5: an errback may handle .cycle, and the cycle's other members continue with its result")
        func ringIsBroken() {
            let (a, b) = (Deferred<Int>(), Deferred<Int>())
            let box = Box<Deferred<Int>?>(nil)
            let one = a.then { _ in box.value! }
            let two = b.then { _ in one }.recover { _ in 5 }
            box.value = two
            b.resolve(1)
            a.resolve(1)
            #expect(outcome(one) == "cycle")
            #expect(outcome(two) == "5")
        }

        @Test("L5: a cycle through a list, its values and its results")
        func ringThroughList() {
            for kind in 0..<3 {
                let source = Deferred<Int>()
                let other = Deferred<Int>()
                let box = Box<Deferred<Int>?>(nil)
                let link = source.then { _ in box.value! }
                let list = DeferredList([other, link])
                switch kind {
                case 0: box.value = list.values().map { $0[0] }
                case 1: box.value = list.results().map { $0.count }
                default: box.value = gather(other, link).map { $0 + $1 }
                }
                source.resolve(1)
                other.resolve(2)
                #expect(outcome(link) == "cycle")
                #expect(outcome(box.value!) == (kind == 1 ? "2" : "cycle"))
                box.value = nil
            }
        }

        @Test("L5: a cycle through followers")
        func ringThroughFollowers() {
            let own = Deferred<Int>()
            own.follow(own)
            #expect(outcome(own) == "cycle")

            let (a, b) = (Deferred<Int>(), Deferred<Int>())
            a.follow(b)
            b.follow(a)
            #expect([outcome(a), outcome(b)] == ["cycle", "cycle"])

            let target = Deferred<Int>()
            target.follow(target.map { $0 })
            #expect(outcome(target) == "cycle")

            let (resolved, resolver) = Deferred<Int>.withResolver()
            let source = Deferred<Int>()
            let link = source.then { _ in resolved }
            resolver.follow(link)
            source.resolve(1)
            #expect([outcome(link), outcome(resolved)] == ["cycle", "cycle"])
        }

        @Test("L5: a cycle through a shielded Deferred, a dispatcher and a pause")
        func ringThroughOthers() {
            let source = Deferred<Int>()
            let box = Box<Deferred<Int>?>(nil)
            let link = source.then { _ in box.value! }
            box.value = link.shielded().map { $0 }
            source.resolve(1)
            #expect(outcome(link) == "cycle")

            let queue = StoringDispatcher()
            let source2 = Deferred<Int>()
            let link2 = source2.then(on: queue) { _ in box.value! }
            box.value = link2.map(on: queue) { $0 }
            source2.resolve(1)
            queue.runAll()
            #expect(outcome(link2) == "cycle")
            #expect(outcome(box.value!) == "cycle")

            let source3 = Deferred<Int>()
            let link3 = source3.then { _ in box.value! }
            link3.pause()
            box.value = link3.map { $0 }
            source3.resolve(1)
            #expect(outcome(link3) == "cycle")
            #expect(outcome(box.value!) == "pending")
            link3.unpause()
            #expect(outcome(box.value!) == "cycle")
        }

        @Test("L5: waits that are not a cycle continue: two that wait for one, a diamond, a settled one")
        func notARing() {
            let inner = Deferred<Int>()
            let source = Deferred<Int>()
            let left = source.then { _ in inner }
            let right = left.then { _ in inner }
            let joined = gather(left, right).map { $0 + $1 }
            source.resolve(1)
            #expect(outcome(joined) == "pending")
            inner.resolve(2)
            #expect(outcome(joined) == "4")
        }

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
        }
    }
}
