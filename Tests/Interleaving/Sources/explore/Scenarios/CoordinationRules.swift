import CInterleaving
import Deferred

/// Queues whose calls wait for room, waits that are moved, the latest call, bags.
func defineCoordinationRulesScenarios() {
    scenario("queue-send-cancel-take") {
        let queue = DeferredQueue<Int>(size: 1), log = Log()
        try! queue.put(1)
        let sent = queue.send(2)
        return Program({ if let taken = queue.tryGet() { log.add("\(taken)") } }, { sent.cancel() }) {
            let isSent = show(sent.currentResult) == "()"
            return all(
                expect(log.text == "1" && sent.hasFired, "\(log.text), \(show(sent.currentResult))"),
                expect(
                    queue.elements == (isSent ? [2] : []) && queue.sendingCount == 0,
                    "\(isSent ? "sent" : "withdrawn"), in the queue: \(queue.elements)"), noReports())
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
    scenario("queue-send-put-get") {
        let queue = DeferredQueue<Int>(size: 1), log = Log()
        return Program(
            { queue.send(1).done { log.add("sent") } }, { if (try? queue.put(2)) == nil { log.add("full") } },
            { watch(queue.get(), log, "got") }
        ) {
            let rest = queue.tryGet()
            return all(
                expect(log.has("sent"), log.text),
                expect(
                    log.has("full") == (rest == nil), "\(log.text), then \(rest.map(String.init) ?? "none")"),
                expect(queue.tryGet() == nil && queue.sendingCount == 0, "more is left"), noReports())
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
    scenario("idle-postpone-expire-cancel") {
        let delays = Delays(), idle = IdleTimer(after: .seconds(1), on: delays)
        return Program({ delays.expire() }, { idle.postpone(.zero) }, { idle.cancel() }) {
            all(
                expect(idle.deferred.hasFired, "the timer goes on"),
                expect(!delays.hasPending, "its work is scheduled"), noReports())
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
    scenario("repeating-stop-reset-expire") {
        let delays = Delays(), log = Log()
        let work = RepeatingWork(every: .seconds(1), on: delays, startsNow: false) { log.add("run") }
        return Program({ delays.expire() }, { work.stop() }, { work.reset() }) {
            delays.expire()
            return all(
                expect(show(work.deferred.currentResult) == "()", show(work.deferred.currentResult)),
                expect(log.count("run") <= 1 && !delays.hasPending, log.text), noReports())
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
}
