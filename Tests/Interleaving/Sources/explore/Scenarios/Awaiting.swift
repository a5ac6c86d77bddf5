import CInterleaving
import Deferred

func defineAwaitingScenarios() {
    // Awaiting
    scenario("await-cancel-resolve") {
        let d = D(), log = Log()
        let w = AwaitProbe()
        return Program({ w.start(d) { log.add("\($0)") } }, { w.cancel() }, { d.resolve(1) }) {
            hold(w)
            let outcome = log.text == "true" ? show(w.outcome(as: Int.self)) : "none"
            return all(
                expect(log.entries.count == 1, log.text),
                expect(log.text == "false" || outcome == "1", outcome), noReports())
        }
    }
    scenario("await-resolve") {
        let d = D(), log = Log()
        let w = AwaitProbe()
        return Program({ w.start(d) { log.add("\($0)") } }, { d.resolve(1) }) {
            hold(w)
            return all(expect(log.text == "true", "resumed: [\(log.text)]"), noReports())
        }
    }
    scenario("await-resolve-attach") {
        let d = D(), log = Log()
        let w = AwaitProbe()
        return Program(
            { w.start(d) { log.add("\($0)") } }, { d.resolve(1) }, { d.done { _ in log.add("a") } }
        ) {
            hold(w)
            return all(expect(log.count("true") == 1 && log.count("a") == 1, "[\(log.text)]"), noReports())
        }
    }
    scenario("await-cancel-other") {
        let log = Log(), d = D(canceller: { _ in log.add("X") })
        let c = d.map { v -> Int in v }
        let w = AwaitProbe()
        return Program({ w.start(d) { log.add("\($0)") } }, { w.cancel() }, { c.cancel() }) {
            hold(w)
            let resumed = log.entries.filter { $0 != "X" }
            // Both were consumers that cancelled; if c was cancelled before the await was attached, d was
            // cancelled for it.
            return all(
                expect(resumed.count == 1, log.text),
                expect(
                    show(d.currentResult) == "cancelled" && log.count("X") == 1,
                    log.text + show(d.currentResult)), noReports())
        }
    }
    scenario("await-cancel") {
        let log = Log(), d = D(canceller: { _ in log.add("X") })
        let w = AwaitProbe()
        return Program({ w.start(d) { log.add("\($0)") } }, { w.cancel() }) {
            hold(w)
            return all(
                expect(log.count("false") == 1 && log.count("true") == 0, log.text),
                expect(show(d.currentResult) == "cancelled" && log.count("X") == 1, log.text), noReports())
        }
    }
    scenario("await-cancel-once") {
        // Cancelled while it is attached or after: never twice, which would cancel what the errback returned.
        let s = D(), second = D(), log = Log()
        let d = s.orElse { _ in second }
        let w = AwaitProbe()
        return Program({ w.start(d) { log.add("\($0)") } }, { w.cancel() }) {
            hold(w, d)
            return all(
                expect(log.text == "false", "resumed: [\(log.text)]"),
                expect(show(s.currentResult) == "cancelled", "s"),
                expect(show(second.currentResult) == "pending", "second: \(show(second.currentResult))"))
        }
    }
    scenario("await-release") {
        let d = Box(D()), d0 = Box(d.value), log = Log()
        let w = AwaitProbe()
        return Program({ w.start(d0.take()!) { log.add("\($0)") } }, { w.cancel() }, { _ = d.take() }) {
            hold(w)
            return all(expect(log.entries.count == 1, log.text), noReports())
        }
    }
    scenario("await-2-cancel-cancel") {
        let log = Log(), d = D(canceller: { _ in log.add("X") })
        let v = AwaitProbe(), w = AwaitProbe()
        v.start(d) { log.add("v\($0)") }
        w.start(d) { log.add("w\($0)") }
        return Program({ v.cancel() }, { w.cancel() }) {
            hold(v, w)
            return all(
                expect(log.entries.sorted() == ["X", "vfalse", "wfalse"], log.text),
                expect(show(d.currentResult) == "cancelled", "d"), noReports())
        }
    }
    scenario("await-2-cancel-resolve") {
        let log = Log(), d = D()
        let v = AwaitProbe(), w = AwaitProbe()
        v.start(d) { log.add("v\($0)") }
        w.start(d) { log.add("w\($0)") }
        return Program({ v.cancel() }, { w.cancel() }, { d.resolve(1) }) {
            hold(v, w)
            return all(
                expect(
                    log.entries.count == 2 && (log.has("vtrue") || log.has("vfalse"))
                        && (log.has("wtrue") || log.has("wfalse")), log.text), noReports())
        }
    }
    scenario("await-paused-resolve") {
        let log = Log(), d = D()
        d.pause()
        let v = AwaitProbe()
        return Program({ v.start(d) { log.add("v\($0)") } }, { d.resolve(1) }, { d.unpause() }) {
            hold(v)
            return all(expect(log.text == "vtrue", log.text), noReports())
        }
    }
}
