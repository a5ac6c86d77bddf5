import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    @Suite("Rule L5: cycles") struct Cycles {
        /// What a callback returns instead of its own link, but depends on it.
        static let ways: [@Sendable (_ link: Deferred<Int>, _ other: Deferred<Int>) -> Deferred<Int>] = [
            { link, _ in link }, { link, _ in link.map { $0 } }, { link, _ in link.shielded().map { $0 } },
            { link, other in DeferredList([other, link]).values().map { $0[0] } },
            { link, other in DeferredList([other, link]).results().map { try $0[1].get() } },
            { link, other in gather(other, link).map { $0 + $1 } },
            { link, _ in
                let (follower, resolver) = Deferred<Int>.withResolver()
                resolver.follow(link)
                return follower
            },
            { link, _ in link.map(on: InlineDispatcher()) { $0 } },
            { link, _ in
                let paused = link.map { $0 }
                paused.pause()
                return paused
            },
        ]

        @Test(
            "L5: a callback that returns what waits for its link, directly or through others, fails it with .cycle",
            arguments: ways.indices)
        func ringOfOne(way: Int) {
            let (source, other) = (Deferred<Int>(), Deferred<Int>())
            let returned = Box<Deferred<Int>?>(nil)
            let link = source.then { _ in returned.value! }
            returned.value = Self.ways[way](link, other)
            source.resolve(1)
            other.resolve(2)
            #expect([outcome(link), outcome(returned.value!)] == ["cycle", "cycle"])
            returned.value = nil
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

        @Test("L5: a cycle through followers")
        func ringThroughFollowers() {
            let (own, a, b) = (Deferred<Int>(), Deferred<Int>(), Deferred<Int>())
            own.follow(own.map { $0 })
            a.follow(b)
            b.follow(a)
            #expect([own, a, b].map(outcome) == ["cycle", "cycle", "cycle"])
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
