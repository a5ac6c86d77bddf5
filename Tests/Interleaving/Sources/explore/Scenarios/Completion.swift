import CInterleaving
import Deferred

func defineCompletionScenarios() {
    scenario("attach-resolve") {
        let d = D(), log = Log()
        return Program({ d.done { log.within("a\($0)") } }, { d.resolve(1) }) {
            all(expect(log.text == "a1", log.text), noReports())
        }
    }
    scenario("attach2-attach-resolve") {
        let d = D(), log = Log()
        return Program(
            {
                d.done { log.within("a\($0)") }; d.done { log.within("b\($0)") }
            },
            { d.done { log.within("c\($0)") } }, { d.resolve(1) }
        ) {
            all(
                expect(log.entries.sorted() == ["a1", "b1", "c1"], log.text),
                expect(log.place("a1") < log.place("b1"), log.text))
        }
    }
    // F4: each is notified before anything further downstream.
    scenario("order-downstream") {
        let d = D(), log = Log()
        let a = d.map { v -> Int in
            log.within("a"); return v
        }
        a.done { _ in log.within("A", group: "A") }
        return Program({ d.done { _ in log.within("b") } }, { d.resolve(1) }) {
            hold(d); let order = log.text
            return expect(order == "a b A" || order == "a A b", order)
        }
    }
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
    scenario("resolve-resolve-attach") {
        let d = D(), log = Log(), wins = Log()
        return Program(
            { if d.resolve(1) { wins.add("w1") } }, { if d.resolve(2) { wins.add("w2") } },
            { d.done { log.within("\($0)") } }
        ) {
            all(
                expect(wins.entries.count == 1, wins.text),
                expect(log.entries.count == 1 && "w" + log.text == wins.text, log.text + wins.text),
                expect(reports == ["alreadyFired"], "\(reports)"))
        }
    }
    scenario("callback-resolve-other") {
        let a = D(), b = D(), log = Log()
        a.done { _ in
            log.within("a"); b.resolve(1)
        }
        b.done { _ in log.within("b", group: "b") }
        return Program({ a.resolve(1) }, { b.resolve(2) }, { b.done { _ in log.within("c", group: "b") } }) {
            all(
                expect(log.entries.sorted() == ["a", "b", "c"], log.text),
                expect(reports == ["alreadyFired"], "\(reports)"))
        }
    }
    scenario("observe-diagnose") {
        let a = D(), b = D()
        let c = a.then { _ in b }.map { v -> Int in v }
        return Program(
            { a.resolve(1) }, { b.resolve(2) },
            {
                _ = c.debugDescription; _ = c.description
            }
        ) {
            all(expect(show(c.currentResult) == "2", show(c.currentResult)), noReports())
        }
    }
}
