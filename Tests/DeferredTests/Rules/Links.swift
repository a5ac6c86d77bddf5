import Deferred
import Testing

extension Rules {
    @Suite("Rules L1 to L4: links") struct Links {
        @Test("L2: a pair's errback does not see what its callback throws; the next link does")
        func pairErrbackSparedSiblingsError() {
            let log = Log()
            let source = Deferred<Int>()
            source.map(
                { _ -> Int in throw Boom(1) },
                recover: { log("sibling: \(name(of: $0))", returning: 0) }
            )
            .fail { log("next: \(name(of: $0))") }
            source.then(
                { _ -> Deferred<Int> in .rejected(Boom(2)) },
                orElse: { _ in log("sibling", returning: .resolved(0)) }
            )
            .fail { log("next: \(name(of: $0))") }
            source.done({ _ -> Void in throw Boom(3) }, fail: { _ in log("sibling") })
                .fail { log("next: \(name(of: $0))") }
            source.resolve(1)
            #expect(log.all == ["next: Boom(1)", "next: Boom(2)", "next: Boom(3)"])
        }

        @Test("L3: a throw makes the next link fail; an errback that returns makes it succeed")
        func throwsAndRecovers() {
            let log = Log()
            let source = Deferred<Int>()
            source.map { _ -> Int in throw Boom(1) }
                .map { log("skipped \($0)", returning: $0) }
                .recover { log(name(of: $0), returning: 5) }
                .recover { _ in log("skipped", returning: 0) }
                .map { log("\($0)", returning: $0) }
                .mapResult { _ -> Int in throw Boom(2) }
                .recover { error -> Int in throw error }
                .fail { log(name(of: $0)) }
            source.resolve(1)
            #expect(log.all == ["Boom(1)", "5", "Boom(2)"])
        }

        @Test("L4: the nested handle keeps its value for other consumers, notified in the order attached")
        func innerKeepsItsValue() {
            let log = Log()
            let inner = Deferred<Int>()
            inner.done { log("before \($0)") }
            let outer = Deferred.resolved(0).then { _ in inner }
            outer.done { log("outer \($0)") }
            inner.done { log("after \($0)") }
            inner.resolve(1)
            #expect(log.all == ["before 1", "after 1", "outer 1"])
            #expect(outcome(inner) == "1")
            inner.done { log("late \($0)") }
            #expect(log.all.last == "late 1")
        }

        @Test("L4: follow and chain(to:) pass an outcome on; an earlier explicit completion wins")
        func follows() {
            let first = Deferred<Int>()
            let (follower, resolver) = Deferred<Int>.withResolver()
            let chained = Deferred<Int>()
            resolver.follow(first)
            chained.follow(first)
            first.resolve(1)
            #expect([outcome(follower), outcome(chained)] == ["1", "1"])

            let second = Deferred<Int>()
            let (target, targetResolver) = Deferred<Int>.withResolver()
            second.chain(to: targetResolver)
            second.reject(Boom(1))
            #expect(outcome(target) == "Boom(1)")

            let third = Deferred<Int>()
            let byHand = Deferred<Int>()
            byHand.follow(third)
            #expect(byHand.resolve(5))
            let found = reports { third.resolve(6) }
            #expect(outcome(byHand) == "5")
            #expect(found.isEmpty)
        }
    }
}
