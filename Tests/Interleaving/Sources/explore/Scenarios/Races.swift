import CInterleaving
import Deferred
import DeferredTesting

/// Windows of a step or two, each of which was a fault once, or is guarded by a line of its own.
func defineRaceScenarios() {
    // C5: cancelled once its upstream is resolved, and before it is notified.
    scenario("cancel-before-notified") {
        let d = D(), log = Log(), reached = Signal(), done = Signal()
        d.done { _ in
            reached.send()
            done.wait()
        }
        let b = d.map { v -> Int in
            log.within("b"); return v
        }
        return Program(
            { d.resolve(1) },
            {
                reached.wait()
                b.cancel()
                done.send()
            }
        ) {
            hold(d)
            let result = show(b.currentResult)
            return all(expect(result == "cancelled" && !log.has("b"), result + log.text), noReports())
        }
    }
    scenario("canceller-cancel-cancel") {
        let log = Log()
        let d = D(canceller: { _ in log.add("x") })
        let c = d.map { v -> Int in v }
        return Program({ d.cancel() }, { c.cancel() }) {
            all(
                expect(log.text == "x" && show(c.currentResult) == "cancelled", log.text), noReports())
        }
    }
    // C1: the canceller has another thread complete its own resolver, and waits for that.
    scenario("canceller-on-another-thread") {
        let own = Box<Resolver<Int>>(nil), box = WorkBox(), asked = Signal(), done = Signal()
        let d = D(canceller: { resolver in
            own.value = resolver
            asked.send()
            done.wait()
        })
        let c = d.map(on: Stored(box: box)) { v -> Int in v + 1 }
        return Program(
            { c.cancel() },
            {
                asked.wait()
                own.take()!.resolve(6)
                done.send()
            }
        ) {
            box.runAll()
            hold(d)
            return all(expect(show(c.currentResult) == "7", show(c.currentResult)), noReports())
        }
    }
    scenario("follow-resolve-first") {
        let d = D(), other = D(), log = Log(), wins = Log()
        d.both { log.within(show($0)) }
        return Program(
            { d.follow(other) }, { wins.add("\(d.resolve(2))") }, { other.resolve(1) }
        ) {
            let result = show(d.currentResult)
            return all(
                expect(log.text == result && ["1", "2"].contains(result), log.text + " " + result),
                expect(wins.text == (result == "2" ? "true" : "false"), wins.text + result))
        }
    }
    scenario("bypass-running-cancel") {
        let log = Log()
        let s = D(), inner = D(canceller: { _ in log.add("x") })
        let tail = D.resolved(0).then { _ -> D in
            s.then { _ -> D in
                log.within("ran"); return inner
            }
        }
        return Program({ tail.cancel() }, { s.resolve(1) }, { tail.cancel() }) {
            hold(s, inner)
            let result = show(tail.currentResult)
            return all(
                expect(result == "cancelled", result + log.text),
                expect(log.count("x") == log.count("ran"), log.text), noReports())
        }
    }
    scenario("list-first-start-cancels-remaining") {
        let log = Log()
        let x = D(), y = D(canceller: { _ in log.add("Y") })
        return Program(
            { watch(DeferredList([x, y], cancelsRemaining: true).first().map { $0.value }, log, "=") },
            { x.resolve(1) }, { y.resolve(2) }
        ) {
            let end = log.entries.filter { $0 != "Y" }
            return all(
                expect(end == ["=1"] || end == ["=2"], log.text),
                expect(y.currentResult != nil, "y pending"), noReports())
        }
    }
    // D5: one after another, in order, also where two inputs settle at once.
    scenario("list-limit-start-one-by-one") {
        let x = [D(), D(), D(), D()], log = Log()
        let list = DeferredList([0, 1, 2, 3], limit: 2) { index in
            log.within("b\(index)", group: "body"); return x[index]
        }
        watch(list.results().map { $0.count }, log, "=")
        return Program({ x[0].resolve(1) }, { x[1].resolve(2) }) {
            x[2].resolve(3)
            x[3].resolve(4)
            return all(expect(log.text == "b0 b1 b2 b3 =4", log.text), noReports())
        }
    }
    scenario("semaphore-release-release") {
        let semaphore = DeferredSemaphore(1)
        let permit = semaphore.tryAcquire()!
        return Program({ permit.release() }, { permit.release() }) {
            expect(semaphore.available == 1, "available \(semaphore.available)")
        }
    }
    scenario("queue-put-get") {
        let queue = DeferredQueue<Int>(), log = Log()
        return Program({ try! queue.put(7) }, { watch(queue.get(), log, "a") }) {
            expect(
                log.text == "a7", "\(log.text), \(queue.count) in the queue, \(queue.waitingCount) waiting")
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
    // A dispatcher that is released with work in it releases the work, and its link fails.
    scenario("dispatch-released-dispatcher") {
        let dispatcher = Box(ManualDispatcher()), s = D(), log = Log()
        watch(s.map(on: dispatcher.value!) { $0 + 1 }, log, "=")
        return Program({ s.resolve(1) }, { _ = dispatcher.take() }) {
            all(expect(log.text == "=abandoned", log.text), noReports())
        }
    }
    // P1 and wait(): consumers suspended by a pause are notified by the thread that unpauses.
    scenario("wait-paused-unpause") {
        let d = D(), log = Log()
        let child = Box<D>(nil)
        d.done { _ in
            d.pause()
            child.value = d.map { $0 + 1 }
        }
        d.done { _ in log.within("b") }
        d.resolve(1)
        let c = child.take()!
        return Program({ wait(for: c, log) }, { d.unpause() }) {
            all(expect(log.count("2") == 1 && log.count("b") == 1, log.text), noReports())
        }
    }
    // Z1: the finalizer completes what was cancelled; the next late result is reported.
    scenario("finally-completes-late") {
        let (d, resolver) = D.withResolver()
        d.finally { _ in resolver.resolve(1) }
        return Program({ d.cancel() }, { resolver.resolve(2) }) {
            let result = show(d.currentResult)
            return all(
                expect(result == "cancelled" || result == "2", result),
                expect(reports == ["alreadyFired"], "\(result) \(reports)"))
        }
    }
    scenario("release-nested-cancel") {
        let log = Log()
        let inner = D()
        let tail = inner.map { v -> Int in v }
        let box = Box(inner), outer = Box(D())
        outer.value!.fail { [box] _ in _ = box.take() }
        return Program({ _ = outer.take() }, { tail.cancel() }) {
            hold(log)
            let result = show(tail.currentResult)
            return expect(["abandoned", "cancelled", "pending"].contains(result), result)
        }
    }
    scenario("repeating-expire-cancel") {
        let delays = Delays(), log = Log()
        let loop = Deferred.repeating(every: .seconds(1), on: delays) { log.within("tick") }
        return Program({ delays.expire() }, { loop.cancel() }) {
            let ticks = log.count("tick")
            delays.expire()
            return all(
                expect(show(loop.currentResult.map { $0.map { 0 } }) == "cancelled", "the loop goes on"),
                expect(log.count("tick") == ticks && ticks >= 1 && !delays.hasPending, log.text), noReports())
        }
    }
    scenario("always-cancel-resolve") {
        let d = D(), log = Log()
        let c = d.always { _ in log.add("A") }
        watch(c, log, "=")
        return Program({ d.resolve(1) }, { c.cancel() }, { c.done { _ in log.add("c") } }) {
            all(
                expect(log.count("A") == 1 && log.count("=1") + log.count("=cancelled") == 1, log.text),
                expect(log.place("A") == 0, log.text), noReports())
        }
    }
    scenario("pause-twice-unpause-unpause") {
        let d = D(), log = Log()
        d.pause()
        d.pause()
        d.done { _ in log.within("a") }
        return Program(
            { d.unpause() }, { d.resolve(1) },
            {
                d.unpause()
                log.add("U")
            }
        ) { all(expect(log.count("a") == 1, log.text), noReports()) }
    }
}
