import CInterleaving
import Deferred

func defineCancellingScenarios() {
    scenario("cancel-resolve") {
        let d = D(), log = Log(), wins = Log()
        d.both { log.within(show($0)) }
        return Program({ d.cancel() }, { wins.add("\(d.resolve(1))") }) {
            all(
                expect(
                    log.text == "1" && wins.text == "true" || log.text == "cancelled" && wins.text == "false",
                    log.text + wins.text), noReports())
        }
    }
    scenario("cancel-resolve-resolve") {
        let d = D(), log = Log(), wins = Log()
        d.both { log.within(show($0)) }
        return Program(
            { d.cancel() }, { wins.add("a\(d.resolve(1))") }, { wins.add("b\(d.resolve(2))") }
        ) {
            let n = wins.entries.count { $0.hasSuffix("true") }
            let late = log.text == "cancelled" ? 1 : reports.count
            return all(
                expect(n == (log.text == "cancelled" ? 0 : 1), log.text + wins.text),
                expect(log.entries.count == 1, log.text),
                expect(reports.count == late && late <= 1, "\(log.text) \(reports)"))
        }
    }
    scenario("canceller-resolve") {
        let log = Log()
        let d = D(canceller: { r in
            log.add("x"); r.resolve(7)
        })
        d.both { log.within(show($0)) }
        return Program({ d.cancel() }, { d.resolve(1) }, { d.cancel() }) {
            all(
                expect(["x 7", "1", "x 1", "1 x"].contains(log.text), log.text), noReports())
        }
    }
    scenario("child-cancel-resolve") {
        let d = D(), log = Log()
        let c = d.map { v -> Int in
            log.within("ran"); return v
        }
        return Program({ c.cancel() }, { d.resolve(1) }) {
            let r = show(c.currentResult)
            return all(
                expect(log.has("ran") ? r == "1" : r == "cancelled", log.text + r),
                expect(d.currentResult != nil, "d pending"), noReports())
        }
    }
    scenario("grandchild-cancel-resolve") {
        let d = D(), log = Log()
        let c = d.map { v -> Int in
            log.within("ran"); return v
        }
        let e = c.map { v -> Int in
            log.within("RAN"); return v
        }
        return Program({ e.cancel() }, { d.resolve(1) }) {
            let r = show(e.currentResult)
            return all(
                expect(log.has("RAN") ? r == "1" : r == "cancelled", log.text + r), noReports())
        }
    }
    scenario("grandchild-cancel2-resolve") {
        let d = D(), log = Log()
        let c = d.map { v -> Int in
            log.within("ran"); return v
        }
        let e = c.map { v -> Int in
            log.within("RAN"); return v
        }
        return Program({ e.cancel() }, { d.resolve(1) }, { c.cancel() }) {
            let r = show(e.currentResult), s = show(c.currentResult)
            return all(
                expect(log.has("RAN") ? r == "1" : r == "cancelled", log.text + r),
                expect(log.has("ran") ? s == "1" : s == "cancelled", log.text + s), noReports())
        }
    }
    scenario("cancel-attach") {
        let log = Log()
        let d = D(canceller: { _ in log.add("x") })
        let a = d.map { v -> Int in v }
        let b = Box<D>(nil)
        return Program({ a.cancel() }, { b.value = d.map { v -> Int in v } }) {
            d.resolve(5)
            let r = show(b.value!.currentResult)
            return all(
                expect(show(a.currentResult) == "cancelled", show(a.currentResult)),
                expect(r == (log.has("x") ? "cancelled" : "5"), r + log.text), noReports())
        }
    }
    scenario("cancel-attach-resolve") {
        let d = D()
        let a = d.map { v -> Int in v }
        let b = Box<D>(nil)
        return Program({ a.cancel() }, { b.value = d.map { v -> Int in v } }, { d.resolve(5) }) {
            let r = show(b.value!.currentResult), q = show(a.currentResult), s = show(d.currentResult)
            return all(
                expect(q == "cancelled" || q == "5", q), expect(s == r, r + s), noReports())
        }
    }
    scenario("callback-cancels-itself") {
        let a = D(), log = Log(), inner = D(canceller: { _ in log.add("X") })
        let c = Box<D>(nil)
        c.value = a.then { _ -> D in
            c.value!.cancel(); return inner
        }
        watch(c.value!, log, "=")
        return Program({ a.resolve(1) }, { c.value!.cancel() }) {
            let t = log.text
            _ = c.take()
            return all(expect(t == "X =cancelled" || t == "=cancelled", t), noReports())
        }
    }
}
