import CInterleaving
import Deferred
import DeferredTesting

/// Queues, semaphores, caches, timers and bags.
func defineCoordinationScenarios() {
    scenario("queue-send-cancel-worker") {
        let queue = DeferredQueue<Int>(size: 1), log = Log()
        try! queue.put(1)
        let sent = queue.send(2)
        return Program({ queue.run { log.add("\($0)") }.fail { _ in } }, { sent.cancel() }) {
            let isSent = show(sent.currentResult) == "()"
            return all(
                expect(log.text == (isSent ? "1 2" : "1"), "\(log.text), \(show(sent.currentResult))"),
                expect(queue.count == 0 && sent.isSettled, "left: \(queue.elements)"), noReports())
        }
    }
    // V2: an element is received, or comes back: once.
    scenario("queue-get-cancel-received") {
        let queue = DeferredQueue<Int>(), log = Log()
        let got = queue.get().map { $0 }
        let received = got.done { log.add("\($0)") }
        return Program({ try? queue.put(1) }, { received.cancel() }) {
            let isReceived = log.text == "1"
            hold(got)
            let rest = queue.elements
            return expect(isReceived == rest.isEmpty && rest.count <= 1, "\(log.text) \(rest)")
        }
    }
    scenario("queue-released-worker-cancel") {
        let log = Log(), box = Box(DeferredQueue<Int>())
        let other = box.value!.run { log.add("\($0)") }
        let worker = box.value!.run { log.add("\($0)") }
        return Program({ try! box.take()!.put(1) }, { worker.cancel() }) {
            all(
                expect(log.text == "1", log.text),
                expect(show(other.currentResult) == "abandoned" && worker.isSettled, "a worker goes on"))
        }
    }
    // C7: of a list, nothing begins because the cancel has ended another input, whichever thread carries that out.
    for name in ["running", "claimed", "dispatched"] {
        scenario("list-cancel-\(name)") {
            let semaphore = DeferredSemaphore(1), box = WorkBox(), log = Log(), inner = D()
            let source = name == "claimed" ? D(canceller: { _ in }) : D()
            if name == "dispatched" { source.resolve(1) }
            let running = semaphore.run {
                source.then(on: name == "dispatched" ? Stored(box: box) : nil) { _ in inner }
            }
            let waiting = semaphore.run { () -> D in
                log.add("began")
                return .resolved(2)
            }
            let list = DeferredList([running, waiting]).results()
            return Program(
                { list.cancel() }, { if name == "dispatched" { box.runAll() } else { source.resolve(1) } }
            ) {
                hold(inner)
                return all(expect(log.text == "", log.text), noReports())
            }
        }
    }
    scenario("idle-reset-reset-expire") {
        let delays = Delays(), idle = IdleTimer(after: .seconds(1), timer: delays)
        return Program({ delays.expire() }, { idle.reset(.zero) }, { idle.reset() }) {
            for _ in 0..<3 { delays.expire() }
            return all(
                expect(show(idle.deferred.currentResult) == "()", show(idle.deferred.currentResult)),
                expect(!delays.hasPending, "its work is scheduled"), noReports())
        }
    }
    scenario("latest-run-run-expire") {
        let delays = Delays(), latest = DeferredLatest(debounce: .seconds(1), timer: delays), log = Log()
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
        let d = Deferred<Int>.retry(attempts: 3, timer: delays) { () -> D in
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
}
