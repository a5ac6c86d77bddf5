import CInterleaving
import Deferred

func defineFollowingScenarios() {
    // Followers
    scenario("follow-resolve-resolve-cancel") {
        let d = D(), other = D(), log = Log()
        d.follow(other)
        d.both { log.within(show($0)) }
        return Program({ other.resolve(1) }, { d.resolve(2) }, { d.cancel() }) {
            all(
                expect(["1", "2", "cancelled"].contains(log.text), log.text),
                expect(show(d.currentResult) == log.text, log.text))
        }
    }
    scenario("follow-now-resolve-cancel") {
        let d = D(), other = D(), log = Log()
        d.both { log.within(show($0)) }
        return Program({ d.follow(other) }, { other.resolve(1) }, { d.cancel() }) {
            all(expect(["1", "cancelled"].contains(log.text), log.text), noReports())
        }
    }
    scenario("follow-cancel-consumer") {
        let log = Log()
        let d = D(), other = D(canceller: { _ in log.add("x") })
        let c = other.map { v -> Int in v }
        d.follow(other)
        return Program({ d.cancel() }, { c.cancel() }) {
            hold(other); let r = show(d.currentResult) + show(c.currentResult)
            return all(expect(r == "cancelledcancelled" && log.text == "x", r + log.text), noReports())
        }
    }
    scenario("chain-release-resolve-cancel") {
        let (d, resolver) = D.withResolver()
        let other = Box(D()), r = Box(resolver)
        let c = d.map { v -> Int in v }
        return Program(
            {
                let x = r.take()!; other.value!.chain(to: x)
            }, { other.value!.resolve(1) }, { c.cancel() }
        ) {
            let q = show(c.currentResult)
            return all(expect(q == "1" || q == "cancelled", q), noReports())
        }
    }
    scenario("follow-release-other") {
        let (d, resolver) = D.withResolver()
        let other = Box(D())
        resolver.follow(other.value!)
        let r = Box(resolver)
        let c = d.map { v -> Int in v }
        return Program({ _ = other.take() }, { c.cancel() }, { _ = r.take() }) {
            let q = show(c.currentResult)
            return all(
                expect(q == "abandoned" || q == "cancelled", q),
                expect(reports.isEmpty || reports == ["unhandled:abandoned"], "\(reports)"))
        }
    }
    scenario("chain-of-followers-cancel") {
        let log = Log(), a = D(canceller: { _ in log.add("X") })
        let b = D(), c = D()
        b.follow(a)
        c.follow(b)
        return Program({ c.cancel() }, { b.cancel() }, { a.resolve(1) }) {
            let r = [b, c].map { show($0.currentResult) }
            return all(
                expect(r.allSatisfy { $0 == "1" || $0 == "cancelled" }, "\(r) \(log.text)"),
                expect(a.currentResult != nil, "a"), noReports())
        }
    }
    scenario("two-follow-one-cancel") {
        let log = Log(), a = D(canceller: { _ in log.add("X") })
        let b = D(), c = D()
        b.follow(a)
        c.follow(a)
        return Program({ c.cancel() }, { b.cancel() }) {
            let r = [a, b, c].map { show($0.currentResult) }
            return all(
                expect(r.allSatisfy { $0 == "cancelled" } && log.text == "X", "\(r) \(log.text)"), noReports()
            )
        }
    }
    scenario("follow-two-others") {
        let a = D(), b = D(), c = D()
        c.follow(a)
        c.follow(b)
        return Program({ a.resolve(1) }, { b.resolve(2) }, { c.cancel() }) {
            let r = show(c.currentResult)
            return all(expect(["1", "2", "cancelled"].contains(r), r), noReports())
        }
    }
}
