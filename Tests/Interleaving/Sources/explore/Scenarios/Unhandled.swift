import CInterleaving
import Deferred

func defineUnhandledScenarios() {
    scenario("nested-inner-fails-unhandled") {
        let s = D(), (inner, r) = D.withResolver()
        let outer = Box(s.then { _ in inner })
        return Program({ s.resolve(1) }, { r.reject(E1()) }) {
            hold(inner)
            _ = outer.take()
            return expect(reports == ["unhandled:E1"], "\(reports)")
        }
    }
    scenario("nested-inner-fails-release") {
        let s = D(), (inner, r) = D.withResolver()
        let outer = Box(s.then { _ in inner })
        return Program({ s.resolve(1) }, { r.reject(E1()) }, { _ = outer.take() }) {
            hold(inner)
            return expect(reports == ["unhandled:E1"], "\(reports)")
        }
    }
    // U1
    scenario("unhandled-release") {
        let d = D()
        let a = Box(d), b = Box(d)
        return Program({ a.take()!.reject(E1()) }, { _ = b.take() }) { nil }
    }
    scenario("unhandled-once") {
        let (d, r) = D.withResolver()
        let a = Box(d), b = Box(r)
        return Program({ b.take()!.reject(E1()) }, { _ = a.take() }) {
            expect(reports == ["unhandled:E1"], "\(reports)")
        }
    }
    scenario("unhandled-peek") {
        let (d, r) = D.withResolver()
        let a = Box(d), b = Box(r), log = Log()
        return Program({ b.take()!.reject(E1()) }, { if a.take()!.currentResult != nil { log.add("saw") } }) {
            expect(reports == (log.has("saw") ? [] : ["unhandled:E1"]), "\(reports) \(log.text)")
        }
    }
    scenario("unhandled-attach") {
        let (d, r) = D.withResolver()
        let a = Box(d), a2 = Box(d), b = Box(r), log = Log()
        return Program(
            { b.take()!.reject(E1()) }, { a.take()!.fail { _ in log.add("h") } }, { _ = a2.take() }
        ) { all(expect(log.text == "h", log.text), noReports()) }
    }
    scenario("unhandled-cancel") {
        let (d, r) = D.withResolver()
        let c = Box(d.map { v -> Int in v }), b = Box(r)
        let c2 = c.value!
        return Program({ b.take()!.reject(E1()) }, { c2.cancel() }) {
            let q = show(c2.currentResult)
            _ = c.take()
            return all(
                expect(q == "cancelled" || q == "E1", q),
                expect(q == "E1" || reports.count <= 1, "\(reports)"))
        }
    }
}
