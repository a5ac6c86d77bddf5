import CInterleaving
import Deferred

func defineFinalizersScenarios() {
    // Finalizers
    scenario("finally-resolve-cancel") {
        let d = D(), log = Log()
        d.finally { log.add("F\(show($0))") }
        let c = d.map { v -> Int in
            log.within("c"); return v
        }
        return Program({ d.resolve(1) }, { c.cancel() }) {
            all(
                expect(log.count("F1") + log.count("Fcancelled") == 1, log.text),
                expect(!log.has("c") || log.text == "c F1", log.text), noReports())
        }
    }
    scenario("finally-nested") {
        let d = D(), inner = D(), log = Log()
        d.finally { log.add("F\(show($0))") }
        let c = d.then { _ in inner }
        watch(c, log, "c")
        return Program({ d.resolve(1) }, { inner.resolve(2) }, { c.cancel() }) {
            all(
                expect(log.entries.count == 2 && log.entries[1].hasPrefix("F"), log.text),
                expect(["c2", "ccancelled"].contains(log.entries[0]), log.text), noReports())
        }
    }
    scenario("finally-finally-resolve") {
        let d = D(), log = Log()
        d.finally { log.add("F\(show($0))") }
        return Program(
            { d.resolve(1) }, { d.finally { log.add("G\(show($0))") } }, { d.done { log.within("c\($0)") } }
        ) {
            all(expect(log.entries.sorted() == ["F1", "G1", "c1"], log.text), noReports())
        }
    }
    scenario("finally-paused") {
        let d = D(), log = Log()
        d.finally { log.add("F\(show($0))") }
        d.done { log.add("c\($0)") }
        d.pause()
        return Program({ d.resolve(1) }, { d.unpause() }) {
            all(expect(log.text == "c1 F1", log.text), noReports())
        }
    }
    scenario("finally-2-nested-shared") {
        let a = D(), b = D(), inner = D(), log = Log()
        a.finally { _ in log.add("A") }
        b.finally { _ in log.add("B") }
        watch(a.then { _ in inner }, log, "a")
        watch(b.then { _ in inner }, log, "b")
        return Program({ a.resolve(1) }, { b.resolve(2) }, { inner.resolve(3) }) {
            all(
                expect(log.entries.sorted() == ["A", "B", "a3", "b3"], log.text),
                expect(log.place("a3") < log.place("A") && log.place("b3") < log.place("B"), log.text),
                noReports())
        }
    }
    scenario("finally-dispatched") {
        let d = D(), log = Log(), box = WorkBox()
        d.finally { log.add("F\(show($0))") }
        let c = d.map(on: Stored(box: box)) { v -> Int in
            log.within("c"); return v
        }
        watch(c, log, "=")
        return Program({ d.resolve(1) }, { box.runAll() }, { c.cancel() }) {
            box.runAll()
            return all(
                expect(
                    log.count("F1") + log.count("Fcancelled") == 1 && log.entries.last!.hasPrefix("F"),
                    log.text),
                expect(log.count("=1") + log.count("=cancelled") == 1, log.text), noReports())
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
    scenario("finally-release-cancel") {
        let d = Box(D()), log = Log()
        d.value!.finally { log.add("F\(show($0))") }
        let c = d.value!.map { v -> Int in v }
        watch(c, log, "c")
        return Program({ _ = d.take() }, { c.cancel() }) {
            all(
                expect(
                    log.entries.count == 2 && log.entries[1].hasPrefix("F") && log.entries[0].hasPrefix("c"),
                    log.text), noReports())
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
}
