import CInterleaving
import Deferred
import DeferredTesting

/// Queues, semaphores, caches, timers and bags.
func defineCoordinationScenarios() {
    scenario("queue-put-get-cancel") {
        let q = DeferredQueue<Int>(), log = Log()
        return Program(
            { try! q.put(7) },
            {
                let g = q.get(); watch(g, log, "a"); g.cancel()
            },
            { watch(q.get(), log, "b") }
        ) {
            let got = log.count("a7") + log.count("b7")
            return all(
                expect(
                    got + q.count == 1,
                    "lost: \(log.text), \(q.count) in the queue, \(q.waitingCount) waiting"),
                expect(!(q.count > 0 && q.waitingCount > 0), "an element and a waiter"),
                expect(log.has("a7") || log.has("acancelled"), log.text))
        }
    }
    scenario("queue-send-cancel-worker") {
        let queue = DeferredQueue<Int>(size: 1), log = Log()
        try! queue.put(1)
        let sent = queue.send(2)
        return Program({ queue.run { log.add("\($0)") }.fail { _ in } }, { sent.cancel() }) {
            let isSent = show(sent.currentResult) == "()"
            return all(
                expect(log.text == (isSent ? "1 2" : "1"), "\(log.text), \(show(sent.currentResult))"),
                expect(queue.count == 0 && sent.hasFired, "left: \(queue.elements)"), noReports())
        }
    }
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
    scenario("idle-postpone-postpone-expire") {
        let delays = Delays(), idle = IdleTimer(after: .seconds(1), on: delays)
        return Program({ delays.expire() }, { idle.postpone(.zero) }, { idle.postpone() }) {
            for _ in 0..<3 { delays.expire() }
            return all(
                expect(show(idle.deferred.currentResult) == "()", show(idle.deferred.currentResult)),
                expect(!delays.hasPending, "its work is scheduled"), noReports())
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
    scenario("manualdispatcher-run-run") {
        let m = ManualDispatcher(), d = D(), log = Log()
        d.done(on: m) { _ in log.add("a") }
        d.done(on: m) { _ in log.add("b") }
        return Program({ d.resolve(1) }, { m.run() }, { m.dropAll() }) {
            m.run()
            return all(expect(log.count("a") <= 1 && log.count("b") <= 1, log.text), noReports())
        }
    }
    scenario("cache-request-request-once") {
        let cache = DeferredCache<Int, Int>(), log = Log(), d = D()
        let request: @Sendable () -> D = {
            cache.value(for: 1) {
                log.add("request"); return d
            }
        }
        return Program({ watch(request(), log, "a") }, { watch(request(), log, "b") }) {
            d.resolve(5)
            return all(
                expect(log.count("request") == 1 && log.has("a5") && log.has("b5"), log.text), noReports())
        }
    }
    scenario("semaphore-run-cancel-run") {
        let semaphore = DeferredSemaphore(1), log = Log(), inner = D()
        let first = semaphore.run { inner }
        return Program(
            { inner.resolve(1) },
            {
                let second = semaphore.run { () -> D in
                    log.within("2"); return D.resolved(2)
                }
                second.cancel()
            }, { watch(semaphore.run { D.resolved(3) }, log, "=") }
        ) {
            hold(first)
            return all(
                expect(
                    log.count("=3") == 1 && semaphore.available == 1, "\(semaphore.available) \(log.text)"),
                noReports())
        }
    }
}
