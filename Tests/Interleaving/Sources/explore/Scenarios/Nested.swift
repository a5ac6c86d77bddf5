import CInterleaving
import Deferred

func defineNestedScenarios() {
    // L6: the middle one has no handle, so its consumer is attached in its place.
    scenario("bypass-cancel-resolve") {
        let log = Log()
        let s = D(), s2 = D(), inner = D(canceller: { _ in log.add("x") })
        let tail = Box<D>(
            s.then { _ -> D in
                s2.then { _ -> D in
                    log.within("ran"); return inner
                }
            })
        s.resolve(0)
        return Program({ tail.value!.cancel() }, { s2.resolve(1) }) {
            hold(s2, inner); let r = show(tail.value!.currentResult)
            return all(
                expect(r == "cancelled", "tail \(r) \(log.text)"),
                expect(log.count("x") == log.count("ran"), log.text), noReports())
        }
    }
    scenario("bypass-cancel-resolve-inner-resolve") {
        let log = Log()
        let s = D(), s2 = D(), inner = D()
        let tail = s.then { _ -> D in
            s2.then { _ -> D in
                log.within("ran"); return inner
            }
        }
        let end = tail.map { v -> Int in
            log.within("end"); return v
        }
        s.resolve(0)
        return Program({ end.cancel() }, { s2.resolve(1) }, { inner.resolve(9) }) {
            let r = show(end.currentResult), t = show(tail.currentResult)
            return all(
                expect(log.has("end") ? r == "9" : r == "cancelled", "end \(r) \(log.text)"),
                expect(t == "9" || t == "cancelled", t), noReports())
        }
    }
    scenario("bypass2-resolve-resolve") {
        let log = Log()
        let s = D(), s2 = D(), inner = D(), inner2 = D()
        let tail = s.then { _ -> D in s2.then { _ -> D in inner.then { _ -> D in inner2 } } }
        let end = tail.map { v -> Int in
            log.within("end"); return v
        }
        s.resolve(0)
        return Program({ inner.resolve(3) }, { s2.resolve(1) }, { inner2.resolve(9) }) {
            expect(show(end.currentResult) == "9" && log.text == "end", log.text + show(end.currentResult))
        }
    }
    scenario("nested-inner-resolve-attach") {
        let log = Log()
        let s = D(), inner = D()
        let outer = s.then { _ in inner }
        return Program(
            { s.resolve(1) }, { inner.resolve(5) }, { outer.done { log.within("o\($0)") } }
        ) {
            all(expect(log.text == "o5" && show(outer.currentResult) == "5", log.text), noReports())
        }
    }
    scenario("nested-inner-resolve-cancel") {
        let log = Log()
        let s = D(), inner = D()
        let outer = s.then { _ in inner }
        let tail = outer.map { v -> Int in
            log.within("tail"); return v
        }
        return Program({ s.resolve(1) }, { inner.resolve(5) }, { tail.cancel() }) {
            let r = show(tail.currentResult)
            return all(
                expect(log.has("tail") ? r == "5" : r == "cancelled", log.text + r),
                expect(outer.currentResult != nil, "outer pending"), noReports())
        }
    }
    scenario("nested-shared-inner-cancel") {
        let log = Log()
        let s = D(), inner = D(canceller: { _ in log.add("x") })
        let other = inner.map { v -> Int in v }
        let outer = s.then { _ in inner }
        return Program({ s.resolve(1) }, { outer.cancel() }, { other.cancel() }) {
            let ran = show(s.currentResult) == "1"
            let r = show(outer.currentResult), o = show(other.currentResult), i = show(inner.currentResult)
            return all(
                expect(r == "cancelled" && o == "cancelled" && i == "cancelled", "\(ran) \(r) \(o) \(i)"),
                expect(log.text == "x", log.text), noReports())
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
}
