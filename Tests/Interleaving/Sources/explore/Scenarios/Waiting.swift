import CInterleaving
import Deferred

func defineWaitingScenarios() {
    // wait()
    scenario("wait-resolve") {
        let d = D(), log = Log()
        return Program({ wait(for: d, log) }, { d.resolve(1) }) {
            all(expect(log.text == "1", log.text), noReports())
        }
    }
    scenario("wait-chain-resolve") {
        let d = D(), s = D(), inner = D(), log = Log()
        let c = d.then { v -> D in inner }.map { v -> Int in v + 1 }
        return Program({ wait(for: c, log) }, { d.resolve(1) }, { inner.resolve(4) }) {
            hold(s)
            return all(expect(log.text == "5", log.text), noReports())
        }
    }
    scenario("wait-timeout-resolve") {
        let d = D(), log = Log()
        return Program(
            { wait(for: d, log, timeout: .milliseconds(1)) }, { d.resolve(1) },
            { d.done { _ in log.add("x") } }
        ) {
            all(
                expect(log.has("1") || log.has("!timedOut"), log.text), expect(log.count("x") == 1, log.text),
                noReports())
        }
    }
    scenario("wait-in-callback-other-resolve") {
        let s = D(), d = D(), log = Log()
        let c = d.map { v -> Int in v + 1 }
        s.done { _ in wait(for: c, log) }
        return Program({ s.resolve(0) }, { d.resolve(1) }) {
            all(expect(log.text == "2", log.text), noReports())
        }
    }
    scenario("wait-list-resolve-resolve") {
        let x = D(), y = D(), log = Log()
        let l = DeferredList([x, y]).values()
        return Program({ wait(for: l, log) }, { x.resolve(1) }, { y.resolve(2) }) {
            all(expect(log.text == "[1, 2]", log.text), noReports())
        }
    }
    scenario("wait-own-callback") {
        let s = D(), log = Log()
        let c = Box<D>(nil)
        c.value = s.map { v -> Int in
            wait(for: c.value!, log)
            return v
        }
        return Program({ s.resolve(0) }, { c.value!.cancel() }) {
            let t = log.text
            _ = c.take()
            return all(expect(["!wouldDeadlock", "", "!cancelled"].contains(t), t), noReports())
        }
    }
    // wait() asks whether it would wait for itself, while other threads move the chain.
    scenario("wait-search-moving") {
        let s = D(), d = D(), log = Log(), inner = D()
        let c = d.then { _ in inner }.map { v -> Int in v + 1 }
        s.done { _ in wait(for: c, log) }
        return Program({ s.resolve(0) }, { d.resolve(1) }, { inner.resolve(2) }) {
            all(expect(log.text == "3", log.text), noReports())
        }
    }
    scenario("wait-draining-by-other") {
        // Attached to one whose callbacks another thread is running: no deadlock.
        let d = D(), log = Log()
        d.done { _ in log.within("a") }
        return Program({ d.resolve(1) }, { wait(for: d.map { v -> Int in v }, log) }) {
            all(expect(log.count("1") == 1 && log.count("a") == 1, log.text), noReports())
        }
    }
}
