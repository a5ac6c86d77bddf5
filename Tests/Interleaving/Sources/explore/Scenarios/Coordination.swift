import CInterleaving
import Deferred
import DeferredTesting
import Interleaving

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
        let received = queue.get().done { log.add("\($0)") }
        return Program({ try? queue.put(1) }, { received.cancel() }) {
            let isReceived = log.text == "1"
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
    // A limit that is raised, a permit that is released, and a cancel of the large one at the head.
    scenario("semaphore-limit-release-cancel") {
        let semaphore = DeferredSemaphore(2), log = Log()
        let held = semaphore.tryAcquire()
        let large = semaphore.run(units: 2) { () -> D in
            log.add("large")
            return .resolved(1)
        }
        let small = semaphore.syncRun { log.add("small") }
        return Program({ semaphore.limit = 3 }, { held?.release() }, { large.cancel() }) {
            // Two threads grant what is free, each in order; their bodies may begin in another.
            let isStarted = ["large small", "small large", "small"].contains(log.text)
            return all(
                expect(isStarted && small.isSettled && large.isSettled, log.text),
                expect(semaphore.availableCount == 3 && semaphore.waitingCount == 0, "a unit is lost"),
                noReports())
        }
    }
    scenario("semaphore-lower-release-cancel") {
        let semaphore = DeferredSemaphore(2), log = Log()
        let held = semaphore.tryAcquire()
        let large = semaphore.run(units: 2) { D.resolved(1) }
        let small = semaphore.syncRun { log.add("small") }
        watch(large, log, "=")
        return Program({ semaphore.limit = 1 }, { held?.release() }, { large.cancel() }) {
            all(
                expect(log.count("small") == 1 && small.isSettled && large.isSettled, log.text),
                expect(semaphore.availableCount == 1 && semaphore.waitingCount == 0, "a unit is lost"),
                noReports())
        }
    }
    // C7: a list that shares a semaphore, and work behind it that is cancelled with it: where the list has not started an
    // input, its permit does not start the work.
    scenario("list-semaphore-release-cancel") {
        let semaphore = DeferredSemaphore(1), log = Log()
        let held = semaphore.tryAcquire()
        let list = DeferredList(0..<2, limit: semaphore) { number -> D in
            log.add("list")
            return .never()
        }.values().map { _ in 0 }
        let behind = semaphore.run { () -> D in
            log.add("behind")
            return .never()
        }
        let both = DeferredList([list, behind]).results()
        return Program({ held?.release() }, { both.cancel() }) {
            all(
                expect((log.has("list") || !log.has("behind")) && both.isSettled, log.text),
                expect(semaphore.availableCount == 1 && semaphore.waitingCount == 0, "a permit is lost"),
                noReports())
        }
    }
    // V2: an element that is removed, received, or comes back: once.
    scenario("queue-removeall-get-cancel") {
        let queue = DeferredQueue<Int>(size: 1), log = Log()
        try! queue.put(1)
        let sent = queue.send(2)
        var removed: [Int] = []
        let taken = queue.get().done { log.add("\($0)") }
        let more = queue.get().done { log.add("\($0)") }
        return Program(
            {
                try? queue.put(3); removed = queue.removeAll()
            }, { more.cancel() }, { taken.cancel() }
        ) {
            let seen = log.entries + (removed + queue.elements).map { "\($0)" }
            return all(
                expect(Set(seen).count == seen.count && sent.isSettled, "\(seen)"),
                expect(seen.contains("3"), "lost: \(seen)"), noReports())
        }
    }
    scenario("latest-flush-expire-run") {
        let delays = Delays(), log = Log()
        let latest = DeferredLatest(
            debounce: .seconds(1), maximumWait: .seconds(2), leadingEdge: true, timer: delays)
        watch(latest.syncRun { 0 }, log, "a")
        watch(
            latest.syncRun {
                log.add("runs 1"); return 1
            }, log, "b")
        return Program(
            { latest.flush() }, { delays.expire() }, { watch(latest.syncRun { 2 }, log, "c") }
        ) {
            latest.flush()
            delays.expire()
            return all(
                expect(log.count("runs 1") <= 1 && log.has("c2"), log.text),
                expect(log.has("a0") && (log.has("b1") || log.has("bcancelled")), log.text),
                expect(!delays.hasPending, "a timer goes on"), noReports())
        }
    }
    scenario("cache-renew-forget-resolve") {
        let cache = DeferredCache<Int, Int>(maximumCount: 1, refreshesAfter: .zero, timer: Delays())
        let log = Log(), renewed = D()
        _ = cache.value(for: 1) { .resolved(1) }.currentResult
        return Program(
            { watch(cache.value(for: 1) { renewed }, log, "=") }, { cache.forget(1) }, { renewed.resolve(2) }
        ) {
            let last = show(cache.value(for: 1) { .resolved(3) }.currentResult)
            hold(renewed)
            return all(
                expect(log.count("=1") + log.count("=2") + log.count("=cancelled") == 1, log.text),
                expect(!log.has("=cancelled") && ["2", "3", "1"].contains(last), "\(log.text) \(last)"),
                expect(cache.keptCount == 1 && cache.inProgressCount == 0, "in progress"), noReports())
        }
    }
    scenario("cache-evict-renew-resolve") {
        let cache = DeferredCache<Int, Int>(maximumCount: 1, refreshesAfter: .zero, timer: Delays())
        let log = Log(), other = D()
        _ = cache.value(for: 1) { .resolved(1) }.currentResult
        return Program(
            { watch(cache.value(for: 1) { .resolved(2) }, log, "=") },
            { watch(cache.value(for: 2) { other }, log, "other ") }, { other.resolve(5) }
        ) {
            all(
                expect(log.has("other 5") && (log.has("=1") || log.has("=2")), log.text),
                expect(cache.keptCount <= 1 && cache.inProgressCount == 0, "\(cache.keptCount)"), noReports())
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
