import CInterleaving
import Deferred

func defineCancellingNestedScenarios() {
    // A cancel is never lost: whatever thread wins, the outer one ends without a completion of the inner one.
    scenario("cancel-nested-return") {
        let log = Log()
        let s = D(), inner = D(canceller: { _ in log.add("x") })
        let outer = s.then { _ in
            log.within("ran"); return inner
        }
        return Program({ outer.cancel() }, { s.resolve(1) }) {
            let r = show(outer.currentResult)
            return all(
                expect(r == "cancelled", "outer \(r) \(log.text)"),
                expect(log.count("x") == log.count("ran"), log.text),
                expect(log.has("ran") == (show(inner.currentResult) == "cancelled"), log.text), noReports())
        }
    }
    scenario("cancel-below-nested-return") {
        let log = Log()
        let s = D(), inner = D(canceller: { _ in log.add("x") })
        let outer = s.then { _ in
            log.within("ran"); return inner
        }
        let tail = outer.map { v -> Int in
            log.within("tail"); return v
        }
        return Program({ tail.cancel() }, { s.resolve(1) }) {
            hold(s, inner, outer); let r = show(tail.currentResult)
            return all(
                expect(r == "cancelled" && !log.has("tail"), "tail \(r) \(log.text)"),
                expect(log.count("x") == log.count("ran"), log.text), noReports())
        }
    }
    scenario("cancel-below-bypassed") {
        let log = Log()
        let s = D(), inner = D(canceller: { _ in log.add("x") })
        let tail = s.then { _ -> D in
            D.resolved(1).then { _ in
                log.within("ran"); return inner
            }
        }
        .map { v -> Int in
            log.within("tail"); return v
        }
        return Program({ tail.cancel() }, { s.resolve(1) }) {
            hold(s, inner); let r = show(tail.currentResult)
            return all(
                expect(r == "cancelled" && !log.has("tail"), "tail \(r) \(log.text)"),
                expect(log.count("x") == log.count("ran"), log.text), noReports())
        }
    }
    // Two cancels; the errback recovers with a pending Deferred, which the second may be for.
    scenario("cancel-cancel-recover") {
        let log = Log()
        let s = D(), inner = D(canceller: { _ in log.add("x") })
        let keep = s.map { v -> Int in v }
        let outer = s.orElse { _ -> D in
            log.within("recover"); return inner
        }
        return Program({ outer.cancel() }, { outer.cancel() }) {
            hold(s, inner); let r = show(outer.currentResult)
            outer.cancel()
            s.resolve(1)
            return all(
                expect(r == "cancelled", "after two cancels: \(r)"),
                expect(
                    show(outer.currentResult) == "cancelled", "after a third: \(show(outer.currentResult))"),
                expect(log.count("recover") == 1 && log.count("x") == 1, log.text),
                expect(show(keep.currentResult) == "1", show(keep.currentResult)), noReports())
        }
    }
    scenario("cancel-cancel-recover-resolve") {
        let log = Log()
        let s = D(), inner = D(canceller: { _ in log.add("x") })
        let keep = s.map { v -> Int in v }
        let outer = s.orElse { _ -> D in
            log.within("recover"); return inner
        }
        let tail = outer.map { v -> Int in
            log.within("tail"); return v
        }
        return Program({ tail.cancel() }, { outer.cancel() }, { s.resolve(1) }) {
            hold(s, inner, outer); tail.cancel()
            let r = show(tail.currentResult)
            return all(
                expect(log.has("tail") ? r == "1" : r == "cancelled", log.text + r),
                expect(show(keep.currentResult) == "1", show(keep.currentResult)), noReports())
        }
    }
    scenario("cancel-overtaken-below") {
        // C5: completed by another thread while the canceller runs; the cancel continues where the chain then stands.
        let log = Log(), inner = D(canceller: { _ in log.add("Y") })
        let d = D(canceller: { _ in log.add("x") })
        let c = d.then { _ -> D in
            log.within("c"); return inner
        }
        return Program({ c.cancel() }, { d.resolve(1) }) {
            hold(d, inner); let q = show(c.currentResult)
            return all(
                expect(q == "cancelled", "lost: \(q) \(log.text)"),
                expect(log.has("c") == log.has("Y"), log.text), noReports())
        }
    }
    scenario("cancel-overtaken-deep") {
        let log = Log(), inner = D(canceller: { _ in log.add("Y") })
        let d = D(canceller: { _ in log.add("x") })
        let m = d.map { v -> Int in v }
        let c = m.then { _ -> D in
            log.within("c"); return inner
        }
        let t = c.map { v -> Int in
            log.within("t"); return v
        }
        return Program({ t.cancel() }, { d.resolve(1) }, { inner.resolve(9) }) {
            hold(d, inner, m, c); let q = show(t.currentResult)
            return all(expect(q == (log.has("t") ? "9" : "cancelled"), "\(q) \(log.text)"), noReports())
        }
    }
}
