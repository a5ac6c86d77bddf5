import CInterleaving
import Deferred
import DeferredTesting

/// Queues, semaphores, caches, timers and bags.
func defineCoordinationScenarios() {
    scenario("queue-released-worker-cancel") {
        let log = Log(), box = Box(DeferredQueue<Int>())
        let other = box.value!.run { log.add("\($0)") }
        let worker = box.value!.run { log.add("\($0)") }
        return Program({ try! box.take()!.put(1) }, { worker.cancel() }) {
            all(
                expect(log.text == "1", log.text),
                expect(show(other.currentResult) == "abandoned" && worker.hasFired, "a worker goes on"))
        }
    }
    scenario("latest-run-run-expire") {
        let delays = Delays(), latest = DeferredLatest(debounce: .seconds(1), on: delays), log = Log()
        return Program(
            { watch(latest.syncRun { 1 }, log, "a") }, { watch(latest.syncRun { 2 }, log, "b") },
            { delays.expire() }
        ) {
            delays.expire()
            return all(
                expect(log.entries.count == 2 && (log.has("a1") || log.has("b2")), log.text),
                expect(!delays.hasPending, "a timer goes on"), noReports())
        }
    }
    scenario("bag-add-cancel-resolve") {
        let bag = CancelBag(), source = D(), log = Log()
        return Program(
            { watch(source.map { $0 }.store(in: bag), log, "=") }, { bag.cancelAll() }, { source.resolve(1) }
        ) {
            all(
                expect(["=1", "=cancelled"].contains(log.text), log.text), expect(bag.count == 0, "left"),
                noReports())
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
}
