import CInterleaving
import Deferred
import DeferredTesting

func defineTimeScenarios() {
    scenario("timeout-expire-resolve-cancel") {
        let d = D(), delays = Delays(), log = Log()
        let t = d.timeout(.seconds(1), on: delays)
        watch(t, log, "=")
        return Program({ delays.expire() }, { d.resolve(1) }, { t.cancel() }) {
            all(expect(["=1", "=timedOut", "=cancelled"].contains(log.text), log.text), noReports())
        }
    }
    scenario("timeout-created-expire-resolve") {
        let d = D(), delays = Delays(), log = Log()
        return Program(
            { watch(d.timeout(.seconds(1), on: delays), log, "=") }, { d.resolve(1) }, { delays.expire() }
        ) {
            all(
                expect(["=1", "=timedOut"].contains(log.text), log.text),
                expect(!delays.hasPending, "the timer goes on"), noReports())
        }
    }
    scenario("timeout-shared-expire") {
        let log = Log(), d = D(canceller: { _ in log.add("X") }), delays = Delays()
        let t = d.timeout(.seconds(1), on: delays)
        let c = d.map { v -> Int in v }
        watch(t, log, "=")
        return Program({ delays.expire() }, { c.cancel() }) {
            hold(d);
            return all(
                expect(
                    log.count("=timedOut") == 1 && log.count("X") == 1
                        && show(c.currentResult) == "cancelled", log.text), noReports())
        }
    }
    scenario("after-expire-cancel-release") {
        let delays = Delays(), log = Log()
        let d = D.after(.seconds(1), on: delays, value: 5)
        watch(d, log, "=")
        return Program({ delays.expire() }, { d.cancel() }) {
            all(expect(["=5", "=cancelled"].contains(log.text), log.text), noReports())
        }
    }
    scenario("retry-fail-expire-cancel") {
        let delays = Delays(), log = Log(), s = D()
        let d = Deferred<Int>.retry(attempts: 3, on: delays) { () -> D in
            log.add("try"); return s.map { _ -> Int in throw E1() }
        }
        watch(d, log, "=")
        return Program({ s.resolve(1) }, { delays.expire() }, { d.cancel() }) {
            let r = log.entries.filter { $0.hasPrefix("=") }
            // An attempt that fails just when the retry is cancelled, and is not notified any more, is reported:
            // nothing has handled its error (U1).
            return all(
                expect(r == ["=cancelled"] || r == ["=E1"], log.text),
                expect(reports.isEmpty || r == ["=cancelled"] && reports == ["unhandled:E1"], "\(reports)"))
        }
    }
    // Work scheduled while the clock is advanced either ran, or is due later than now.
    scenario("manualclock-dispatch-advance") {
        let clock = ManualClock(), log = Log()
        return Program(
            { _ = clock.dispatch(after: .seconds(5)) { log.add("ran") } }, { clock.advance(by: .seconds(10)) }
        ) {
            let text = clock.description
            clock.advance(by: .zero)
            return expect(!text.contains("in -"), "\(text), ran: \(log.text)")
        }
    }
    scenario("manualclock-after-cancel-advance") {
        let clock = ManualClock(), log = Log()
        let d = D.after(.seconds(5), on: clock, value: 1)
        watch(d, log, "=")
        return Program({ clock.advance(by: .seconds(10)) }, { d.cancel() }) {
            all(expect(["=1", "=cancelled"].contains(log.text), log.text), noReports())
        }
    }
    scenario("manualdispatcher-run-run") {
        let m = ManualDispatcher(), d = D(), log = Log()
        d.done(on: m) { _ in log.add("a") }
        d.done(on: m) { _ in log.add("b") }
        return Program({ d.resolve(1) }, { m.run() }, { m.dropAll() }) {
            m.run()
            return all(expect(log.count("a") <= 1 && log.count("b") <= 1, log.text), noReports())
        }
    }
}
