import CInterleaving
import Deferred

func defineAbandonmentScenarios() {
    // A1
    scenario("release-cancel") {
        let d = Box(D())
        let c = d.value!.map { v -> Int in v }
        return Program({ _ = d.take() }, { c.cancel() }) {
            let r = show(c.currentResult)
            return all(expect(r == "abandoned" || r == "cancelled", r), noReports())
        }
    }
    scenario("release-cancel-attach") {
        let d = Box(D()), log = Log()
        let c = d.value!.map { v -> Int in v }
        return Program({ _ = d.take() }, { c.cancel() }, { c.both { log.within(show($0)) } }) {
            let r = show(c.currentResult)
            return all(
                expect(r == "abandoned" || r == "cancelled", r), expect(log.text == r, log.text + r),
                noReports())
        }
    }
    scenario("release-cancel-cancel") {
        let d = Box(D())
        let c = d.value!.map { v -> Int in v }
        let e = c.map { v -> Int in v }, f = d.value!.map { v -> Int in v }
        return Program({ _ = d.take() }, { e.cancel() }, { f.cancel() }) {
            let r = show(e.currentResult), q = show(f.currentResult)
            return all(
                expect(r == "abandoned" || r == "cancelled", r),
                expect(q == "abandoned" || q == "cancelled", q),
                expect(reports.isEmpty || reports == ["unhandled:abandoned"], "\(reports)"))
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
    scenario("release2-resolve-cancel") {
        let source = D()
        let a = Box(source), b = Box(source), log = Log()
        let c = source.map { v -> Int in
            log.within("c"); return v
        }
        return Program({ a.take()!.resolve(1) }, { _ = b.take() }, { c.cancel() }) {
            let r = show(c.currentResult)
            return all(expect(r == (log.has("c") ? "1" : "cancelled"), r), noReports())
        }
    }
    scenario("release2") {
        var source: D? = D()
        let a = Box(source), b = Box(source)
        let c = source!.map { v -> Int in v }
        source = nil
        return Program({ _ = a.take() }, { _ = b.take() }) {
            all(expect(show(c.currentResult) == "abandoned", show(c.currentResult)), noReports())
        }
    }
    scenario("release-canceller-cancel") {
        let log = Log()
        let d = Box(
            D(canceller: { r in
                log.add("x"); r.resolve(4)
            }))
        let c = d.value!.map { v -> Int in v }
        return Program({ _ = d.take() }, { c.cancel() }) {
            let r = show(c.currentResult)
            return all(
                expect(
                    r == "abandoned" && !log.has("x") || r == "4" && log.text == "x"
                        || r == "cancelled" && log.text == "", r + log.text), noReports())
        }
    }
    scenario("release-nested-cancel-resolve") {
        let s = D(), inner = Box(D())
        let outer = s.then { _ -> D in inner.value ?? D.resolved(8) }
        return Program({ _ = inner.take() }, { s.resolve(1) }, { outer.cancel() }) {
            let r = show(outer.currentResult)
            return all(expect(["abandoned", "cancelled", "8"].contains(r), r), noReports())
        }
    }
    scenario("resolver-released-cancel") {
        let log = Log()
        let (d, resolver) = D.withResolver(canceller: { _ in log.add("x") })
        let r = Box(resolver)
        let c = d.map { v -> Int in v }
        return Program({ _ = r.take() }, { c.cancel() }) {
            let q = show(c.currentResult)
            return all(
                expect(q == "abandoned" || q == "cancelled", q + log.text),
                expect(!log.has("x") || show(d.currentResult) == "cancelled", show(d.currentResult)),
                noReports())
        }
    }
    scenario("resolver-resolve-release-cancel") {
        let (deferred, resolver) = D.withResolver()
        let r = Box(resolver), d = Box(deferred)
        let c = deferred.map { v -> Int in v }
        return Program({ r.take()!.resolve(1) }, { c.cancel() }, { _ = d.take() }) {
            let q = show(c.currentResult)
            return all(expect(q == "1" || q == "cancelled", q), noReports())
        }
    }
    scenario("resolver2-resolve-resolve-cancel") {
        let (deferred, resolver) = D.withResolver()
        let r = Box(resolver), r2 = Box(resolver)
        let log = Log()
        let c = deferred.map { v -> Int in v }
        return Program(
            { log.add("\(r.take()!.resolve(1))") }, { log.add("\(r2.take()!.resolve(1))") },
            { deferred.cancel() }
        ) {
            let q = show(c.currentResult)
            // After a cancel the first late result is dropped without a report, the second is reported.
            return all(
                expect(q == "1" || q == "cancelled", q),
                expect(log.count("true") == (q == "1" ? 1 : 0), log.text + q),
                expect(q == "1" ? reports.count <= 1 : reports.count == 1, "\(q) \(reports)"))
        }
    }
    scenario("resolver2-relaxed") {
        let (deferred, resolver) = D.withResolver()
        let r = Box(resolver), r2 = Box(resolver)
        let log = Log()
        let c = deferred.map { v -> Int in v }
        return Program(
            { log.add("\(r.take()!.resolve(1))") }, { log.add("\(r2.take()!.resolve(1))") },
            { deferred.cancel() }
        ) {
            let q = show(c.currentResult)
            // After a cancel the first late result is dropped without a report, the second is reported.
            return all(
                expect(q == "1" || q == "cancelled", q),
                expect(log.count("true") == (q == "1" ? 1 : 0), log.text + q),
                expect(q == "1" ? reports.count <= 1 : reports.count <= 1, "\(q) \(reports)"))
        }
    }
    scenario("resolver2-released") {
        let (d, resolver) = D.withResolver()
        let a = Box(resolver), b = Box(resolver)
        let c = d.map { v -> Int in v }
        return Program({ _ = a.take() }, { _ = b.take() }) {
            all(expect(show(c.currentResult) == "abandoned", show(c.currentResult)), noReports())
        }
    }
    scenario("resolver-cancel-in-canceller") {
        // The canceller completes its own resolver while another thread completes it too.
        let log = Log()
        let (d, r) = D.withResolver(canceller: { own in
            log.add("x"); own.resolve(7)
        })
        let c = d.map { v -> Int in
            log.within("c\(v)"); return v
        }
        return Program({ c.cancel() }, { r.resolve(1) }, { r.resolve(2) }) {
            let q = show(c.currentResult)
            return all(
                expect(["7", "1", "2", "cancelled"].contains(q), q + log.text),
                expect(q == "cancelled" || log.has("c" + q), log.text),
                expect(reports.count <= 2, "\(reports)"))
        }
    }
}
