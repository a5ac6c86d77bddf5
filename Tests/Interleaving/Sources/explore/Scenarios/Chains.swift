import CInterleaving
import Deferred

/// Chains with what generated programs do not have, or with faults that these do not find.
func defineChainsScenarios() {
    scenario("attach-in-callback-resolve") {
        let d = D(), log = Log()
        d.done { _ in
            log.within("a")
            d.done { _ in log.within("b") }
        }
        return Program({ d.done { _ in log.within("c") } }, { d.resolve(1) }) {
            all(
                expect(log.entries.sorted() == ["a", "b", "c"], log.text),
                expect(log.place("a") == 0, log.text))
        }
    }
    // Shields
    scenario("shield-cancel-resolve-cancel") {
        let log = Log(), d = D(canceller: { _ in log.add("X") })
        let sh = d.shielded()
        let c = d.map { v -> Int in v }
        return Program({ sh.cancel() }, { d.resolve(1) }, { c.cancel() }) {
            let r = show(sh.currentResult), q = show(c.currentResult)
            return all(
                expect(!log.has("X") && show(d.currentResult) == "1", log.text),
                expect(["1", "cancelled"].contains(r) && ["1", "cancelled"].contains(q), r + q), noReports())
        }
    }
    scenario("cycle-follow-nested") {
        let a = D(), s = D()
        let box = Box<D>(nil)
        box.value = s.then { _ -> D in a }
        return Program({ a.follow(box.value!) }, { s.resolve(1) }) {
            let r = show(a.currentResult), q = show(box.take()!.currentResult)
            return all(expect(r == "cycle" && q == "cycle", r + " " + q), noReports())
        }
    }
    scenario("cycle-list") {
        let s1 = D(), s2 = D()
        let a = Box<Deferred<Int>>(nil)
        let x = D()
        a.value = s1.then { _ -> D in DeferredList([x, s2]).results().map { _ in 1 } }
        x.follow(a.value!)
        return Program({ s1.resolve(1) }, { s2.resolve(2) }) {
            let r = show(x.currentResult), q = show(a.take()!.currentResult)
            return all(expect(r != "pending" && q != "pending", r + " " + q))
        }
    }
    // Both at once
    scenario("recursion-bypass-cancel") {
        let d = D(), e = D(), log = Log()
        @Sendable func loop(_ n: Int) -> D {
            n == 0 ? D.resolved(1) : (n == 2 ? d : e).then { _ in loop(n - 1) }
        }
        let tail = loop(2)
        watch(tail, log, "=")
        return Program({ d.resolve(1) }, { e.resolve(1) }, { tail.cancel() }) {
            all(expect(["=1", "=cancelled"].contains(log.text), log.text), noReports())
        }
    }
    scenario("finally-follow") {
        let d = D(), e = D(), log = Log()
        d.finally { _ in log.add("F") }
        watch(e, log, "e")
        return Program({ e.follow(d) }, { d.resolve(1) }, { e.resolve(2) }) {
            all(expect(log.count("F") == 1 && log.entries.count == 2, log.text))
        }
    }
    scenario("finally-late-result") {
        let log = Log()
        let (d, r) = D.withResolver(canceller: { _ in log.add("X") })
        d.finally { log.add("F\(show($0))") }
        return Program({ d.cancel() }, { r.resolve(1) }, { r.resolve(2) }) {
            all(
                expect(log.entries.filter { $0.hasPrefix("F") }.count == 1, log.text),
                expect(reports.count <= 1, "\(reports)"))
        }
    }
    scenario("finally-list") {
        let x = D(), y = D(), log = Log()
        x.finally { _ in log.add("X") }
        y.finally { _ in log.add("Y") }
        let l = DeferredList([x, y]).values()
        watch(l, log, "=")
        return Program({ x.resolve(1) }, { y.resolve(2) }, { l.cancel() }) {
            // The one whose completion completes the list runs after the list's callbacks.
            all(
                expect(log.count("X") == 1 && log.count("Y") == 1 && log.entries.count == 3, log.text),
                noReports())
        }
    }
    scenario("release-describe-cancel") {
        let d = Box(D())
        let c = d.value!.map { v -> Int in v }
        let e = c.map { v -> Int in v }
        return Program({ _ = d.take() }, { _ = e.description }, { e.cancel() }) {
            let r = show(e.currentResult)
            return all(
                expect(r == "abandoned" || r == "cancelled", r),
                expect(reports.isEmpty || reports == ["unhandled:abandoned"], "\(reports)"))
        }
    }
    scenario("nested-inner-fails-unhandled") {
        let s = D(), (inner, r) = D.withResolver()
        let outer = Box(s.then { _ in inner })
        return Program({ s.resolve(1) }, { r.reject(E1()) }) {
            hold(inner)
            _ = outer.take()
            return expect(reports == ["unhandled:E1"], "\(reports)")
        }
    }
    // Awaiting
    scenario("await-cancel-resolve") {
        let d = D(), log = Log()
        let w = AwaitProbe()
        return Program({ w.start(d) { log.add("\($0)") } }, { w.cancel() }, { d.resolve(1) }) {
            hold(w)
            let outcome = log.text == "true" ? show(w.outcome(as: Int.self)) : "none"
            return all(
                expect(log.entries.count == 1, log.text),
                expect(log.text == "false" || outcome == "1", outcome), noReports())
        }
    }
    scenario("await-paused-resolve") {
        let log = Log(), d = D()
        d.pause()
        let v = AwaitProbe()
        return Program({ v.start(d) { log.add("v\($0)") } }, { d.resolve(1) }, { d.unpause() }) {
            hold(v)
            return all(expect(log.text == "vtrue", log.text), noReports())
        }
    }
    // P1 and wait(): consumers suspended by a pause are notified by the thread that unpauses.
    scenario("wait-paused-unpause") {
        let d = D(), log = Log()
        let child = Box<D>(nil)
        d.done { _ in
            d.pause()
            child.value = d.map { $0 + 1 }
        }
        d.done { _ in log.within("b") }
        d.resolve(1)
        let c = child.take()!
        return Program({ wait(for: c, log) }, { d.unpause() }) {
            all(expect(log.count("2") == 1 && log.count("b") == 1, log.text), noReports())
        }
    }
    // Z1: the finalizer completes what was cancelled; the next late result is reported.
    scenario("finally-completes-late") {
        let (d, resolver) = D.withResolver()
        d.finally { _ in resolver.resolve(1) }
        return Program({ d.cancel() }, { resolver.resolve(2) }) {
            let result = show(d.currentResult)
            return all(
                expect(result == "cancelled" || result == "2", result),
                expect(reports == ["alreadyFired"], "\(result) \(reports)"))
        }
    }
    // L6: two links without a handle, one in the other, of which the lower adopts the outcome; the nested one has a consumer.
    scenario("bypass-twice-cancel") {
        let d = D(), inner = D(), other = inner.map { $0 }
        let tail = D.resolved(0).then { _ in D.resolved(0).then { _ in d.then { _ in inner } } }
        return Program({ d.resolve(1) }, { tail.cancel() }) {
            let r = show(tail.currentResult), before = show(inner.currentResult)
            inner.resolve(5)
            return all(
                expect(r == "cancelled" && before == "pending", "\(r) \(before)"),
                expect(show(other.currentResult) == "5", show(other.currentResult)), noReports())
        }
    }
}
