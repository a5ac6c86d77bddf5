import Deferred
import Testing

extension Rules {
    @Suite("Rules L1 to L4: links") struct Links {
        @Test("L1: then passes a failure through untouched, and does not run")
        func thenPassesFailure() {
            let source = Deferred<Int>()
            let log = Log()
            let plain = source.map { log("ran", returning: "\($0)") }
            let nested = source.then { log("ran", returning: Deferred.resolved("\($0)")) }
            let void = source.done { _ in log("ran") }
            let constant = source.thenReturn("x")
            source.reject(Boom(1))
            #expect(
                [outcome(plain), outcome(nested), outcome(void), outcome(constant)].allSatisfy {
                    $0 == "Boom(1)"
                })
            #expect(log.all.isEmpty)
        }

        @Test("L1: fail passes a value through untouched, and does not run; its Void form makes it ()")
        func failPassesValue() {
            let source = Deferred<Int>()
            let log = Log()
            let plain = source.recover { _ in log("ran", returning: 0) }
            let nested = source.orElse { _ in log("ran", returning: Deferred.resolved(0)) }
            let typed = source.recover(Boom.self) { _ in log("ran", returning: 0) }
            let void: Deferred<Void> = source.fail { _ in log("ran") }
            source.resolve(1)
            #expect(
                [outcome(plain), outcome(nested), outcome(typed), outcome(void)] == ["1", "1", "1", "()"])
            #expect(log.all.isEmpty)
        }

        @Test("L1: both sees either")
        func bothSeesEither() {
            for (fire, expected) in [
                (Result<Int, any Error>.success(1), "1"), (.failure(Boom(1)), "Boom(1)"),
            ] {
                let source = Deferred<Int>()
                let log = Log()
                let plain = source.mapResult { outcome($0) }
                let nested = source.thenResult { Deferred.resolved(outcome($0)) }
                let void: Deferred<Void> = source.both { log(outcome($0)) }
                source.complete(with: fire)
                #expect([outcome(plain), outcome(nested), outcome(void)] == [expected, expected, "()"])
                #expect(log.all == [expected])
            }
        }

        @Test("L1: an errback for a type takes failures of that type, and lets others pass")
        func typedFail() {
            let boom = Deferred<Int>.rejected(Boom(3))
            #expect(outcome(boom.recover(Boom.self) { $0.id }) == "3")
            #expect(outcome(boom.orElse(Boom.self) { Deferred.resolved($0.id) }) == "3")
            #expect(outcome(boom.recover(Crash.self) { _ in 0 }) == "Boom(3)")
            #expect(outcome(boom.orElse(Crash.self) { _ in Deferred.resolved(0) }) == "Boom(3)")
            let log = Log()
            boom.fail(Boom.self) { log("\($0.id)") }
            #expect(outcome(boom.fail(Crash.self) { _ in log("not called") }) == "Boom(3)")
            #expect(log.all == ["3"])
            let abandoned = Deferred<Int>.rejected(DeferredError.abandoned)
            #expect(outcome(abandoned.recover(DeferredError.self) { $0 == .abandoned ? 1 : 2 }) == "1")
        }

        @Test("L2: of a pair exactly one runs", arguments: [true, false])
        func pairRunsOne(succeeds: Bool) {
            let log = Log()
            let source = Deferred<Int>()
            let plain = source.map(
                { log("value \($0)", returning: "v") },
                recover: { log(name(of: $0), returning: "e") })
            let nested = source.then(
                { log("value \($0)", returning: Deferred.resolved("v")) },
                orElse: { log(name(of: $0), returning: Deferred.resolved("e")) })
            source.done({ log("value \($0)") }, fail: { log(name(of: $0)) })
            if succeeds { source.resolve(1) } else { source.reject(Boom(1)) }
            #expect(log.all == Array(repeating: succeeds ? "value 1" : "Boom(1)", count: 3))
            #expect([outcome(plain), outcome(nested)] == (succeeds ? ["v", "v"] : ["e", "e"]))
        }

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

        @Test("L3: every form that throws fails with what it threw")
        func everyFormThrows() {
            let value = Deferred.resolved(1)
            let failure = Deferred<Int>.rejected(Boom(1))
            @Sendable func refuse() throws -> Int { throw Boom(2) }
            @Sendable func refuseNested() throws -> Deferred<Int> { throw Boom(2) }
            @Sendable func refuseVoid() throws { throw Boom(2) }
            let all: [String] = [
                outcome(value.map { _ in try refuse() }), outcome(value.then { _ in try refuseNested() }),
                outcome(value.done { _ in try refuseVoid() }), outcome(failure.recover { _ in try refuse() }),
                outcome(failure.orElse { _ in try refuseNested() }),
                outcome(failure.recover(Boom.self) { _ in try refuse() }),
                outcome(failure.orElse(Boom.self) { _ in try refuseNested() }),
                outcome(value.mapResult { _ in try refuse() }),
                outcome(value.thenResult { _ in try refuseNested() }),
                outcome(value.both { _ in try refuseVoid() }),
                outcome(value.map({ _ in try refuse() }, recover: { _ in 0 })),
            ]
            #expect(all.allSatisfy { $0 == "Boom(2)" })
        }

        @Test("L4: a link whose callback returns a pending Deferred waits for it, and takes its outcome")
        func nestedPending() {
            for (result, expected) in [
                (Result<String, any Error>.success("x"), "x"), (.failure(Boom(1)), "Boom(1)"),
            ] {
                let source = Deferred<Int>()
                let inner = Deferred<String>()
                let log = Log()
                let outer = source.then { _ in inner }
                outer.both { log(outcome($0)) }
                source.resolve(1)
                #expect(outcome(outer) == "pending")
                #expect(log.all.isEmpty)
                inner.complete(with: result)
                #expect(outcome(outer) == expected)
                #expect(log.all == [expected])
            }
        }

        @Test("L4: a nested Deferred that has fired is taken at once")
        func nestedFired() {
            let log = Log()
            let source = Deferred<Int>()
            source.then { _ in Deferred.resolved("x") }.done { log($0) }
            source.then { _ in Deferred<String>.rejected(Boom(1)) }.recover {
                log(name(of: $0)); return ""
            }.done { _ in }
            source.resolve(1)
            #expect(log.all == ["x", "Boom(1)"])
        }

        @Test("L4: every form that may nest does")
        func everyFormNests() {
            let inner = Deferred<Int>()
            let value = Deferred.resolved(1)
            let failure = Deferred<Int>.rejected(Boom(1))
            let all = [
                value.then { _ in inner }, failure.orElse { _ in inner },
                failure.orElse(Boom.self) { _ in inner },
                value.thenResult { _ in inner }, failure.thenResult { _ in inner },
                value.then({ _ in inner }, orElse: { _ in .resolved(0) }),
                failure.then({ _ in .resolved(0) }, orElse: { _ in inner }),
            ]
            #expect(all.map(outcome) == Array(repeating: "pending", count: all.count))
            inner.resolve(9)
            #expect(all.map(outcome) == Array(repeating: "9", count: all.count))
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
