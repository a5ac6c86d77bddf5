import CInterleaving
import Deferred
import DeferredTesting

/// Chains, lists and dispatchers with what generated programs do not have, or with faults that these do not find.
func defineChainsScenarios() {
    scenario("cycle-follow-nested") {
        let a = D(), s = D()
        let box = Box<D>(nil)
        box.value = s.then { _ -> D in a }
        return Program({ a.follow(box.value!) }, { s.resolve(1) }) {
            let r = show(a.currentResult), q = show(box.take()!.currentResult)
            return all(expect(r == "cycle" && q == "cycle", r + " " + q), noReports())
        }
    }
    scenario("cycle-list") {
        let s1 = D(), s2 = D()
        let a = Box<Deferred<Int>>(nil)
        let x = D()
        a.value = s1.then { _ -> D in DeferredList([x, s2]).results().map { _ in 1 } }
        x.follow(a.value!)
        return Program({ s1.resolve(1) }, { s2.resolve(2) }) {
            let r = show(x.currentResult), q = show(a.take()!.currentResult)
            return all(expect(r != "pending" && q != "pending", r + " " + q))
        }
    }
    // Both at once
    scenario("recursion-bypass-cancel") {
        let d = D(), e = D(), log = Log()
        @Sendable func loop(_ n: Int) -> D {
            n == 0 ? D.resolved(1) : (n == 2 ? d : e).then { _ in loop(n - 1) }
        }
        let tail = loop(2)
        watch(tail, log, "=")
        return Program({ d.resolve(1) }, { e.resolve(1) }, { tail.cancel() }) {
            all(expect(["=1", "=cancelled"].contains(log.text), log.text), noReports())
        }
    }
    scenario("finally-follow") {
        let d = D(), e = D(), log = Log()
        d.finally { _ in log.add("F") }
        watch(e, log, "e")
        return Program({ e.follow(d) }, { d.resolve(1) }, { e.resolve(2) }) {
            all(expect(log.count("F") == 1 && log.entries.count == 2, log.text))
        }
    }
    scenario("finally-late-result") {
        let log = Log()
        let (d, r) = D.withResolver(canceller: { _ in log.add("X") })
        d.finally { log.add("F\(show($0))") }
        return Program({ d.cancel() }, { r.resolve(1) }, { r.resolve(2) }) {
            all(
                expect(log.entries.filter { $0.hasPrefix("F") }.count == 1, log.text),
                expect(reports.count <= 1, "\(reports)"))
        }
    }
    scenario("finally-list") {
        let x = D(), y = D(), log = Log()
        x.finally { _ in log.add("X") }
        y.finally { _ in log.add("Y") }
        let l = DeferredList([x, y]).values()
        watch(l, log, "=")
        return Program({ x.resolve(1) }, { y.resolve(2) }, { l.cancel() }) {
            // The one whose completion completes the list runs after the list's callbacks.
            all(
                expect(log.count("X") == 1 && log.count("Y") == 1 && log.entries.count == 3, log.text),
                noReports())
        }
    }
    scenario("release-describe-cancel") {
        let d = Box(D())
        let c = d.value!.map { v -> Int in v }
        let e = c.map { v -> Int in v }
        return Program({ _ = d.take() }, { _ = e.description }, { e.cancel() }) {
            let r = show(e.currentResult)
            return all(
                expect(r == "abandoned" || r == "cancelled", r),
                expect(reports.isEmpty || reports == ["unhandled:abandoned"], "\(reports)"))
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
    // L6: two links without a handle, one in the other, of which the lower adopts the outcome; the nested one has a consumer.
    scenario("bypass-twice-cancel") {
        let d = D(), inner = D(), other = inner.map { $0 }
        let tail = D.resolved(0).then { _ in D.resolved(0).then { _ in d.then { _ in inner } } }
        return Program({ d.resolve(1) }, { tail.cancel() }) {
            let r = show(tail.currentResult), before = show(inner.currentResult)
            inner.resolve(5)
            return all(
                expect(r == "cancelled" && before == "pending", "\(r) \(before)"),
                expect(show(other.currentResult) == "5", show(other.currentResult)), noReports())
        }
    }
    // C5: a cancel that meets a source which follows another one.
    scenario("late-cancel-follow") {
        let (d, resolver) = D.withResolver(), other = D(), inner = D()
        resolver.follow(other)
        let c = d.then { _ in inner }
        return Program({ c.cancel() }, { other.resolve(1) }) {
            hold(inner)
            return expect(show(c.currentResult) == "cancelled", show(c.currentResult))
        }
    }
    scenario("canceller-resolves-later-cancel") {
        // The second cancel comes while the canceller runs, which resolves after that.
        let reached = Signal(), go = Signal()
        let d = D(canceller: { own in
            reached.send()
            go.wait()
            own.resolve(7)
        })
        let c = d.map { $0 }
        return Program(
            { d.cancel() },
            {
                reached.wait()
                c.cancel()
                go.send()
            }
        ) {
            all(expect(show(c.currentResult) == "7", show(c.currentResult)), noReports())
        }
    }
    // Lists
    scenario("list-limit-2-consumers") {
        let x = [D(), D()], log = Log()
        let list = DeferredList([0, 1], limit: 1) { i in
            log.add("b\(i)"); return x[i]
        }
        return Program(
            { watch(list.results().map { _ in 1 }, log, "p") },
            { watch(list.values().map { _ in 2 }, log, "q") }, { x[0].resolve(1) }
        ) {
            x[1].resolve(2)
            return all(
                expect(
                    log.count("b0") == 1 && log.count("b1") == 1 && log.count("p1") == 1
                        && log.count("q2") == 1, log.text),
                noReports())
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
    // Dispatchers
    // A dispatcher that runs the same work twice, on two threads.
    scenario("dispatch-twice") {
        let d = D(), log = Log(), box = WorkBox()
        watch(
            d.map(on: Stored(box: box)) { v -> Int in
                log.within("c"); return v
            }, log, "=")
        d.resolve(1)
        let work = box.take()!
        return Program({ work() }, { work() }) {
            all(expect(log.text == "c =1", log.text), noReports())
        }
    }
    // F4: a dispatcher that runs its work at once.
    scenario("dispatch-within-call") {
        let d = D(), log = Log()
        d.map(on: InlineDispatcher()) { $0 }.done { _ in log.add("a2") }
        d.done { _ in log.add("b1") }
        return Program({ d.resolve(1) }, { d.done { _ in log.add("c") } }) {
            all(expect(log.place("b1") < log.place("a2"), log.text), noReports())
        }
    }
}
