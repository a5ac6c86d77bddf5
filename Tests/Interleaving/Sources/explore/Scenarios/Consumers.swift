import CInterleaving
import Deferred

func defineConsumersScenarios() {
    scenario("last-consumer") {
        let log = Log()
        let d = D(canceller: { _ in log.add("x") })
        let a = d.map { v -> Int in v }, b = d.map { v -> Int in v }
        return Program({ a.cancel() }, { b.cancel() }) {
            let r = show(a.currentResult) + show(b.currentResult) + show(d.currentResult)
            return all(
                expect(log.text == "x" && r == "cancelledcancelledcancelled", log.text + r), noReports())
        }
    }
    scenario("last-of-three-consumers") {
        let log = Log()
        let d = D(canceller: { _ in log.add("x") })
        let a = d.map { v -> Int in v }, b = d.map { v -> Int in v }, c = d.map { v -> Int in v }
        return Program({ a.cancel() }, { b.cancel() }, { c.cancel() }) {
            hold(d); let r = show(a.currentResult) + show(b.currentResult) + show(c.currentResult)
            return all(
                expect(log.text == "x" && r == "cancelledcancelledcancelled", log.text + r), noReports())
        }
    }
    scenario("last-consumer-deep") {
        let log = Log()
        let d = D(canceller: { _ in log.add("x") })
        let m = d.map { v -> Int in v }
        let a = m.map { v -> Int in v }, b = m.map { v -> Int in v }
        return Program({ a.cancel() }, { b.cancel() }) {
            let r =
                show(a.currentResult) + show(b.currentResult) + show(d.currentResult) + show(m.currentResult)
            return all(
                expect(log.text == "x" && r == "cancelledcancelledcancelledcancelled", log.text + r),
                noReports())
        }
    }
    scenario("last-consumer-resolve") {
        let d = D(), log = Log()
        let
            a = d.map { v -> Int in
                log.within("a"); return v
            },
            b = d.map { v -> Int in
                log.within("b"); return v
            }
        return Program({ a.cancel() }, { b.cancel() }, { d.resolve(1) }) {
            let p = show(a.currentResult), q = show(b.currentResult)
            return all(
                expect(p == (log.has("a") ? "1" : "cancelled"), p + log.text),
                expect(q == (log.has("b") ? "1" : "cancelled"), q + log.text), noReports())
        }
    }
    scenario("same-cancel-twice") {
        let log = Log()
        let d = D(canceller: { _ in log.add("x") })
        let m = d.map { v -> Int in v }
        let a = m.map { v -> Int in v }
        return Program({ a.cancel() }, { a.cancel() }) {
            hold(d, m);
            return expect(
                log.text == "x" && show(a.currentResult) == "cancelled", log.text + show(a.currentResult))
        }
    }
    scenario("cancel-position-and-below") {
        let log = Log()
        let d = D(canceller: { _ in log.add("x") })
        let m = d.map { v -> Int in v }
        let a = m.map { v -> Int in v }
        let b = d.map { v -> Int in v }
        return Program({ a.cancel() }, { m.cancel() }) {
            d.resolve(3)
            let r = show(a.currentResult) + show(m.currentResult) + show(b.currentResult)
            return expect(log.text == "" && r == "cancelledcancelled3", log.text + r)
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
    scenario("shield-created-cancel") {
        let log = Log(), d = D(canceller: { _ in log.add("X") })
        let c = d.map { v -> Int in v }
        let sh = Box<D>(nil)
        return Program({ sh.value = d.shielded() }, { c.cancel() }) {
            d.resolve(4)
            let r = show(sh.value!.currentResult)
            return all(expect(r == (log.has("X") ? "cancelled" : "4"), r + log.text), noReports())
        }
    }
    scenario("shield-shield") {
        let log = Log(), d = D(canceller: { _ in log.add("X") })
        let sh = d.shielded(), sh2 = sh.shielded()
        return Program({ sh.cancel() }, { sh2.cancel() }, { d.resolve(1) }) {
            let r = show(sh.currentResult), q = show(sh2.currentResult)
            return all(
                expect(!log.has("X") && show(d.currentResult) == "1", log.text),
                expect(["1", "cancelled"].contains(r) && ["1", "cancelled"].contains(q), r + q), noReports())
        }
    }
    scenario("shield-nested-cancel") {
        let log = Log(), s = D(), inner = D(canceller: { _ in log.add("X") })
        let o = s.then { _ in inner.shielded() }
        return Program({ s.resolve(1) }, { o.cancel() }) {
            let r = show(o.currentResult)
            return all(
                expect(
                    !log.has("X") && r == "cancelled" && show(inner.currentResult) == "pending", r + log.text),
                noReports())
        }
    }
    // Many are attached and cancelled; with --fault 103 the list is swept at once.
    scenario("sweep-3-cancel") {
        let log = Log(), d = D(canceller: { _ in log.add("X") })
        let a = d.map { v -> Int in v }, b = d.map { v -> Int in v }, c = d.map { v -> Int in v }
        let e = d.map { v -> Int in
            log.within("e"); return v
        }
        return Program({ a.cancel() }, { b.cancel() }, { c.cancel() }) {
            d.resolve(2)
            let r = [a, b, c].map { show($0.currentResult) }
            return all(
                expect(
                    r == ["cancelled", "cancelled", "cancelled"] && show(e.currentResult) == "2"
                        && log.text == "e", "\(r) \(log.text)"), noReports())
        }
    }
    scenario("sweep-cancel-attach-resolve") {
        let d = D(), log = Log()
        let a = d.map { v -> Int in v },
            b = d.map { v -> Int in
                log.within("b"); return v
            }
        return Program(
            {
                a.cancel(); b.cancel()
            }, { d.done { _ in log.within("c") } }, { d.resolve(1) }
        ) {
            let r = show(a.currentResult), q = show(b.currentResult), s = show(d.currentResult)
            return all(
                expect(["cancelled", "1"].contains(r) && q == (log.has("b") ? "1" : "cancelled"), r + q),
                expect(log.has("c") == (s == "1"), log.text + s), noReports())
        }
    }
    scenario("sweep-recover-cancel") {
        // The detached one that recovers is still in the list: it follows.
        let log = Log(), d = D(), inner = D(canceller: { _ in log.add("X") })
        let c = d.map { v -> Int in v }
        let a = d.orElse { _ -> D in inner }
        return Program(
            {
                a.cancel(); log.add("-")
            }, { a.cancel() }, { c.cancel() }
        ) {
            hold(d, inner, c); let r = show(a.currentResult)
            a.cancel()
            return all(
                expect(show(a.currentResult) == "cancelled" || show(a.currentResult) == "pending", r),
                expect(show(c.currentResult) == "cancelled", show(c.currentResult)), noReports())
        }
    }
    scenario("sweep-recover-cancel-resolve") {
        let log = Log(), d = D(), inner = D(canceller: { _ in log.add("X") })
        let c = d.map { v -> Int in v }
        let a = d.orElse { _ -> D in inner }
        return Program({ a.cancel() }, { a.cancel() }, { d.resolve(4) }) {
            hold(d, inner, c); let r = show(a.currentResult)
            return all(
                // Both cancels may come before it is dequeued: they count as one then, and the errback recovers.
                expect(["cancelled", "4", "pending"].contains(r), r + log.text),
                expect(show(c.currentResult) == "4", "c"), noReports())
        }
    }
    scenario("sweep-recover-inner-resolve-cancel") {
        let d = D(), inner = D(), log = Log()
        let c = d.map { v -> Int in v }
        let a = d.orElse { _ -> D in inner }
        watch(a, log, "=")
        return Program({ a.cancel() }, { a.cancel() }, { inner.resolve(6) }) {
            hold(d, inner, c);
            return all(
                expect(["=cancelled", "=6"].contains(log.text), log.text),
                expect(show(c.currentResult) == "pending", "c"), noReports())
        }
    }
}
