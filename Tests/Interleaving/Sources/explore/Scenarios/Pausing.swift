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
}
