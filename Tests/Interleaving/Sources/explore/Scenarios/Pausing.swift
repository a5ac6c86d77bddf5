import CInterleaving
import Deferred

func definePausingScenarios() {
    scenario("pause-unpause-resolve-attach") {
        let d = D(), log = Log()
        d.done { log.within("a\($0)") }
        return Program(
            {
                d.pause(); log.add("P"); let n = log.entries.count { $0 != "P" }; log.add("U\(n)");
                d.unpause()
            },
            { d.resolve(1) }, { d.done { log.within("b\($0)") } }
        ) {
            let calls = log.entries.filter { $0.hasSuffix("1") && !$0.hasPrefix("U") }
            return all(expect(calls.sorted() == ["a1", "b1"], log.text), noReports())
        }
    }
    scenario("unpause-resolve-attach") {
        let d = D(), log = Log()
        d.pause()
        d.done { log.within("a\($0)") }
        return Program({ d.unpause() }, { d.resolve(1) }, { d.done { log.within("b\($0)") } }) {
            all(
                expect(log.entries.sorted() == ["a1", "b1"] && log.place("a1") == 0, log.text), noReports())
        }
    }
    // Paused while it is drained: no callback begins between pause() and unpause().
    scenario("pause-while-draining") {
        let d = D(), log = Log()
        d.done { _ in log.within("a") }
        d.done { _ in log.within("b") }
        return Program(
            { d.resolve(1) },
            {
                d.pause(); log.add("P"); log.add("Q"); d.unpause()
            }
        ) {
            let between = log.place("Q") - log.place("P") - 1
            // One callback may have begun before the pause and be recorded after.
            return all(
                expect(log.count("a") == 1 && log.count("b") == 1, log.text),
                expect(between <= 1, "two callbacks during a pause: \(log.text)"), noReports())
        }
    }
    scenario("pause-pause") {
        let d = D(), log = Log()
        d.done { _ in log.within("a") }
        return Program(
            {
                d.pause(); d.unpause()
            },
            {
                d.pause(); d.unpause()
            }, { d.resolve(1) }
        ) {
            all(expect(log.text == "a", log.text), noReports())
        }
    }
    scenario("paused-child-cancel-resolve") {
        let d = D(), log = Log()
        d.pause()
        let c = d.map { v -> Int in
            log.within("c"); return v
        }
        return Program({ d.unpause() }, { d.resolve(1) }, { c.cancel() }) {
            let r = show(c.currentResult)
            return all(expect(r == (log.has("c") ? "1" : "cancelled"), r + log.text), noReports())
        }
    }
    // The last handle that could unpause it is released while it is completed.
    scenario("paused-released-resolve") {
        let log = Log()
        let (deferred, resolver) = D.withResolver()
        deferred.done { _ in log.within("a") }
        deferred.pause()
        let d = Box(deferred), r = Box(resolver)
        return Program({ _ = d.take() }, { _ = r.take()!.resolve(1) }) {
            all(expect(log.text == "a", log.text), noReports())
        }
    }
    scenario("paused-released-resolve-cancel") {
        let log = Log()
        let (deferred, resolver) = D.withResolver()
        let c = deferred.map { v -> Int in
            log.within("a"); return v
        }
        deferred.pause()
        let d = Box(deferred), r = Box(resolver)
        return Program({ _ = d.take() }, { _ = r.take()!.resolve(1) }, { c.cancel() }) {
            let q = show(c.currentResult)
            return all(expect(q == (log.has("a") ? "1" : "cancelled"), log.text + q), noReports())
        }
    }
    scenario("nested-inner-resolve-paused") {
        let s = D(), inner = D(), log = Log()
        let outer = s.then { _ in inner }
        outer.pause()
        outer.done { log.within("o\($0)") }
        return Program({ s.resolve(1) }, { inner.resolve(3) }, { outer.unpause() }) {
            all(expect(log.text == "o3", log.text), noReports())
        }
    }
    scenario("inner-paused-cancel") {
        let s = D(), inner = D(), log = Log()
        inner.pause()
        let outer = s.then { _ in inner }
        watch(outer, log, "=")
        return Program(
            {
                s.resolve(1); inner.unpause()
            }, { inner.resolve(3) }, { outer.cancel() }
        ) {
            all(expect(["=3", "=cancelled"].contains(log.text), log.text), noReports())
        }
    }
    scenario("unpause-unpause") {
        let d = D(), log = Log()
        d.pause()
        d.done { log.within("a\($0)") }
        return Program({ d.unpause() }, { d.unpause() }, { d.resolve(1) }) {
            all(expect(log.text == "a1", log.text), expect(reports == ["unbalancedUnpause"], "\(reports)"))
        }
    }
    scenario("pause-draining-downstream") {
        let d = D(), log = Log()
        let a = d.map { v -> Int in
            log.within("a"); return v
        }
        d.done { _ in log.within("b") }
        a.done { _ in log.within("A", group: "A") }
        d.finally { _ in log.add("F") }
        return Program(
            { d.resolve(1) },
            {
                d.pause(); log.add("P"); d.unpause()
            }, { d.done { _ in log.within("c") } }
        ) {
            let t = log.entries.filter { $0 != "P" && $0 != "c" }
            return all(
                expect(t == ["a", "b", "A", "F"], log.text), expect(log.count("c") == 1, log.text),
                noReports())
        }
    }
    scenario("pause-resolve-cancel-child") {
        let d = D(), log = Log()
        let a = d.map { v -> Int in
            log.within("a"); return v
        }
        d.done { _ in log.within("b") }
        d.finally { _ in log.add("F") }
        return Program(
            { d.resolve(1) },
            {
                d.pause(); d.unpause()
            }, { a.cancel() }
        ) {
            let r = show(a.currentResult)
            return all(
                expect(log.entries.last == "F" && log.count("b") == 1 && log.count("F") == 1, log.text),
                expect(r == (log.has("a") ? "1" : "cancelled"), r), noReports())
        }
    }
}
