import CInterleaving
import Deferred

func defineCoordinationScenarios() {
    // Coordination
    scenario("semaphore-acquire-cancel") {
        let sem = DeferredSemaphore(1), log = Log()
        let p = Box(sem.tryAcquire())
        return Program(
            { p.take()!.release() },
            {
                let a = sem.acquire().map { p -> Int in
                    log.within("a"); p.release(); return 1
                }; a.cancel()
            },
            {
                sem.acquire().done { p in
                    log.within("b"); p.release()
                }
            }
        ) {
            all(
                expect(
                    sem.available == 1 && sem.waitingCount == 0,
                    "available \(sem.available), waiting \(sem.waitingCount), \(log.text)"),
                expect(log.count("b") == 1 && log.count("a") <= 1, log.text), noReports())
        }
    }
    scenario("semaphore-3") {
        let sem = DeferredSemaphore(1), log = Log()
        func go(_ t: String) {
            sem.acquire().done { p in
                log.within(t); p.release()
            }
        }
        return Program({ go("a") }, { go("b") }, { go("c") }) {
            all(
                expect(sem.available == 1 && sem.waitingCount == 0, "available \(sem.available)"),
                expect(log.entries.sorted() == ["a", "b", "c"], log.text), noReports())
        }
    }
    scenario("lock-run-cancel") {
        let lock = DeferredLock(), log = Log(), inner = D()
        let r1 = lock.run { inner }
        return Program(
            { inner.resolve(1) },
            {
                let r = lock.run { () -> D in
                    log.within("2"); return D.resolved(2)
                }; r.cancel()
            },
            {
                lock.run {
                    D(catching: {
                        log.within("3"); return 3
                    })
                }.done { _ in }
            }
        ) {
            all(
                expect(log.count("3") == 1, log.text), expect(show(r1.currentResult) == "1", "r1"),
                noReports())
        }
    }
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
    scenario("queue-put2-get2") {
        let q = DeferredQueue<Int>(), log = Log()
        return Program(
            {
                try! q.put(1); try! q.put(2)
            }, { watch(q.get(), log, "a") }, { watch(q.get(), log, "b") }
        ) {
            let t = log.entries.sorted().joined(separator: " ")
            return all(expect(t == "a1 b2" || t == "a2 b1", t), noReports())
        }
    }
    scenario("looping-queue-cancel") {
        let q = DeferredQueue<Int>(), log = Log()
        let r = q.run { log.within("\($0)") }
        return Program(
            {
                try! q.put(1); try! q.put(2)
            }, { r.cancel() }
        ) {
            let seen = log.entries.count
            var left: [Int] = []
            while let element = q.tryGet() { left.append(element) }
            return all(
                expect(
                    show(r.currentResult.map { $0.map { 0 } }) == "cancelled",
                    "the loop goes on: \(show(r.currentResult.map { $0.map { 0 } }))"),
                expect(left == Array([1, 2].dropFirst(seen)), "lost: \(log.text), in the queue: \(left)"),
                noReports())
        }
    }
    scenario("looping-queue-cancel-other-waits") {
        let q = DeferredQueue<Int>(), log = Log()
        let r = q.run { log.within("a\($0)") }
        let other = q.run { log.within("b\($0)") }
        return Program({ if (try? q.put(1)) == nil { log.add("a1") } }, { r.cancel() }, { q.finish() }) {
            // Put before the end, it is processed, or is in the queue; put later, it is refused.
            let left = q.tryGet()
            hold(r)
            return all(
                expect(
                    log.count("a1") + log.count("b1") + (left == 1 ? 1 : 0) == 1,
                    "lost: \(log.text), in the queue: \(left.map { "\($0)" } ?? "nothing")"),
                expect(other.hasFired, "the other worker goes on"), noReports())
        }
    }
    scenario("looping-queue-put-put") {
        let q = DeferredQueue<Int>(), log = Log()
        let r = q.run { log.within("\($0)") }
        return Program({ try! q.put(1) }, { try! q.put(2) }) {
            let t = log.entries.sorted().joined(separator: " ")
            r.cancel()
            return all(expect(t == "1 2" && q.count == 0, t), noReports())
        }
    }
    scenario("semaphore-release-twice") {
        let sem = DeferredSemaphore(2), log = Log()
        let p = sem.tryAcquire()!, q = Box(sem.tryAcquire())
        return Program(
            { p.release() },
            {
                p.release(); _ = q.take()
            }, { sem.acquire().done { _ in log.add("a") } }
        ) {
            all(
                expect(sem.available == 2 && log.text == "a", "available \(sem.available) \(log.text)"),
                noReports())
        }
    }
    scenario("semaphore-release-waiting") {
        let sem = DeferredSemaphore(1), log = Log()
        let p = Box(sem.tryAcquire())
        let a = sem.acquire(), b = sem.acquire()
        watch(
            b.map { p -> Int in
                p.release(); return 1
            }, log, "b")
        return Program({ _ = p.take() }, { a.cancel() }, { b.cancel() }) {
            hold(a)
            return expect(log.entries.count == 1, log.text)
        }
    }
}
