import CInterleaving
import Deferred
import DeferredTesting
import Interleaving

/// Chains, lists and dispatchers with what programs do not have: `wait` without a time limit, a list with two Deferreds,
/// work that runs twice, a recording that begins meanwhile.
func defineChainsScenarios() {
    // wait() asks whether it would wait for itself, while other threads move the chain.
    scenario("wait-search-moving") {
        let s = D(), d = D(), log = Log(), inner = D()
        let c = d.then { _ in inner }.map { v -> Int in v + 1 }
        s.done { _ in wait(for: c, log) }
        return Program({ s.resolve(0) }, { d.resolve(1) }, { inner.resolve(2) }) {
            all(expect(log.text == "3", log.text), noReports())
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
    // C5: a cancel that meets a source which follows another one: found with more schedules than a program has.
    scenario("late-cancel-follow") {
        let (d, resolver) = D.withResolver(), other = D(), inner = D()
        resolver.follow(other)
        let c = d.then { _ in inner }
        return Program({ c.cancel() }, { other.resolve(1) }) {
            hold(inner)
            return expect(show(c.currentResult) == "cancelled", show(c.currentResult))
        }
    }
    // C5 (R1): a cancel that was answered has ended, also below what follows.
    scenario("answered-cancel-resolve") {
        let o = D(), inner = D(), other = D(), d = D()
        d.follow(o.orElse { _ in inner })
        let c = d.map { $0 }, log = Log()
        return Program({ c.cancel() }, { other.resolve(1) }) {
            log.add(show(c.currentResult))
            d.resolve(5)
            hold(inner, o, other)
            return expect(log.text == "pending" && show(c.currentResult) == "5", show(c.currentResult))
        }
    }
    scenario("second-cancel-follow") {
        let o = D(), inner = D(), d = D()
        d.follow(o.orElse { _ in inner })
        let c = d.map { $0 }
        return Program({ c.cancel() }, { c.cancel() }) {
            c.cancel()
            hold(o, inner, d)
            return expect(show(c.currentResult) == "cancelled", show(c.currentResult))
        }
    }
    scenario("second-cancel-in-errback") {
        let o = D(), inner = D(), other = D(), d = D()
        let c = d.map { $0 }
        d.follow(
            o.orElse { _ in
                c.cancel()
                return inner
            })
        return Program({ c.cancel() }, { other.resolve(1) }) {
            hold(o, d)
            return expect(show(inner.currentResult) == "cancelled", show(inner.currentResult))
        }
    }
    // C4, C5: a cancel from below comes to a link that another cancel has failed, and whose errback has yet to run.
    scenario("second-cancel-failing") {
        let o = D(), inner = D()
        let failing = o.orElse { _ in inner }, c = failing.map { $0 }, other = o.map { $0 }
        return Program({ failing.cancel() }, { c.cancel() }) {
            hold(o, inner, other)
            return expect(show(c.currentResult) == "cancelled", show(c.currentResult))
        }
    }
    // C5 (R2): a cancel beside a cycle that is being broken.
    scenario("cancel-beside-cycle") {
        let s1 = D(), s2 = D(), inner = D(), links = Box<[D]>([])
        let a = s1.then { _ in links.value![1] }, b = s2.then { _ in links.value![0] }
        links.value = [a, b]
        let c = a.orElse { error in
            if error is CancellationError { throw error }
            return inner
        }
        return Program({ s1.resolve(1) }, { s2.resolve(2) }, { c.cancel() }) {
            links.value = nil
            hold(inner)
            return expect(show(c.currentResult) == "cancelled", show(c.currentResult))
        }
    }
    // L5: two threads that close one cycle both find it, and take each its link out: neither is a cancel.
    scenario("cycle-of-two-threads") {
        let s1 = D(), s2 = D(), links = Box<[D]>([])
        let a = s1.then { _ in links.value![1] }, b = s2.then { _ in links.value![0] }
        links.value = [a, b]
        return Program({ s1.resolve(1) }, { s2.resolve(2) }) {
            links.value = nil
            let ends = [a, b].map { link -> String in
                if case .failure(DeferredError.cycle) = link.currentResult { return "cycle" }
                return show(link.currentResult)
            }
            return expect(ends == ["cycle", "cycle"], "\(ends)")
        }
    }
    // C7: what a source follows is cancelled, too, where a result or another's canceller is before its own canceller.
    scenario("forestalled-canceller") {
        let followed = D(), failing = D(canceller: { $0.resolve(1) })
        let source = Deferred<Int>.withResolver(canceller: { _ in })
        source.resolver.follow(followed)
        source.resolver.follow(failing)
        let bag = CancelBag()
        failing.store(in: bag)
        source.deferred.store(in: bag)
        return Program({ bag.cancelAll() }, { source.resolver.resolve(2) }) {
            let wasFirst =
                show(source.deferred.currentResult) == "2" && show(failing.currentResult) == "1"
            let end = show(followed.currentResult)
            return expect(wasFirst || end == "cancelled", end)
        }
    }
    // P1: a cancel beside a pause that is taking hold.
    scenario("pause-inside-cancel") {
        let s = D()
        s.done { _ in s.pause() }
        let c = s.map { $0 }, last = s.map { $0 }
        return Program({ s.resolve(1) }, { c.cancel() }) {
            let before = show(c.currentResult), held = show(last.currentResult)
            s.unpause()
            return all(
                expect(before == "cancelled" && held == "pending", "\(before) \(held)"),
                expect(show(last.currentResult) == "1", show(last.currentResult)))
        }
    }
    // C5, D5: a cancel that meets a list with a limit which is starting its next input.
    scenario("list-limit-cancel-adding") {
        let first = D(), log = Log(), second = D(canceller: { _ in log.add("cancelled") })
        let all = DeferredList([0, 1], limit: 1) { index in
            if index == 1 { log.add("begun") }
            return index == 0 ? first : second
        }.values()
        return Program({ first.resolve(0) }, { all.cancel() }) {
            expect(log.has("begun") == log.has("cancelled"), log.text)
        }
    }
    // V3, C3: a list that is decided consumes nothing any more.
    scenario("list-decided-cancel") {
        let log = Log()
        let (long, resolver) = D.withResolver(canceller: { _ in log.add("stopped") }), other = D()
        let mine = long.map { $0 }
        let first = DeferredList([long, other]).first()
        return Program({ other.resolve(1) }, { mine.cancel() }) {
            let before = log.text
            if before.isEmpty { long.map { $0 }.cancel() }
            hold(first, resolver)
            return expect(log.text == "stopped", "\(before) \(log.text)")
        }
    }
    // C1: the Resolver of a canceller is used by another thread before the canceller has returned.
    scenario("canceller-resolves-elsewhere") {
        let reached = Signal(), done = Signal(), own = Box<Deferred<Int>.Resolver>(nil)
        let d = D(canceller: { resolver in
            own.value = resolver
            reached.send()
            done.wait()
        })
        let c = d.map { $0 + 1 }
        return Program(
            { c.cancel() },
            {
                reached.wait()
                _ = own.take()?.resolve(7)
                done.send()
            }
        ) {
            hold(d)
            return expect(show(c.currentResult) == "8", show(c.currentResult))
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
    // A recording that is switched on and off meanwhile changes nothing.
    scenario("recording-start-resolve-cancel", includesGlobals: true) {
        let d = D(), log = Log()
        let c = d.map { v -> Int in
            log.within("c"); return v
        }
        return Program(
            {
                let recording = DeferredDiagnostics.startRecording()
                recording.stop()
            }, { d.resolve(1) }, { c.cancel() }
        ) {
            let result = show(c.currentResult)
            return all(expect(result == (log.has("c") ? "1" : "cancelled"), result + log.text), noReports())
        }
    }
}
