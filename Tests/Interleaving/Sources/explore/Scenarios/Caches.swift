import CInterleaving
import Deferred

func defineCachesScenarios() {
    scenario("cache-request-cancel-request") {
        let cache = DeferredCache<Int, Int>(), log = Log()
        let s = Box<[D]>([])
        let ask: @Sendable () -> D = {
            cache.value(for: 1) {
                let d = D(); s.value!.append(d); return d
            }
        }
        return Program(
            {
                let d = ask(); d.cancel(); watch(d, log, "a")
            }, { watch(ask(), log, "b") }
        ) {
            for d in s.value! where d.currentResult == nil { d.resolve(5) }
            _ = s.take()
            return all(
                expect(log.has("acancelled") && log.has("b5"), log.text),
                expect(cache.underWayCount == 0, "still under way"), noReports())
        }
    }
    scenario("cache-request-request-resolve") {
        let cache = DeferredCache<Int, Int>(), log = Log()
        let d = D()
        let asked = Log()
        let ask: @Sendable () -> D = {
            cache.value(for: 1) {
                asked.add("r"); return d
            }
        }
        return Program({ watch(ask(), log, "a") }, { watch(ask(), log, "b") }, { d.resolve(5) }) {
            return all(
                expect(log.entries.sorted() == ["a5", "b5"], log.text),
                expect(cache.underWayCount == 0, "still under way"), noReports())
        }
    }
    scenario("cache-request-cancel2-resolve") {
        let cache = DeferredCache<Int, Int>(), log = Log()
        let d = D()
        let a = cache.value(for: 1) { d }, b = cache.value(for: 1) { d }
        watch(a, log, "a")
        watch(b, log, "b")
        return Program({ a.cancel() }, { b.cancel() }, { d.resolve(5) }) {
            all(
                expect(
                    log.entries.count == 2 && (log.has("a5") || log.has("acancelled"))
                        && (log.has("b5") || log.has("bcancelled")), log.text),
                expect(cache.underWayCount == 0, "still under way"),
                expect(d.currentResult != nil, "request pending"), noReports())
        }
    }
    // A value in a cache, while it expires, is forgotten, and requested.
    scenario("cache-kept-expire-request") {
        let delays = Delays(), cache = DeferredCache<Int, Int>(keepingFor: .seconds(1), on: delays),
            log = Log()
        let d = D()
        let ask: @Sendable () -> D = {
            cache.value(for: 1) {
                log.add("r"); return log.count("r") == 1 ? d : D.resolved(6)
            }
        }
        watch(ask(), log, "a")
        return Program({ d.resolve(5) }, { delays.expire() }, { watch(ask(), log, "b") }) {
            delays.expire();
            return all(
                expect(log.has("a5") && (log.has("b5") || log.has("b6")), log.text),
                expect(cache.underWayCount == 0, "under way"), noReports())
        }
    }
    scenario("cache-forget-resolve-request") {
        let delays = Delays(), cache = DeferredCache<Int, Int>(keepingFor: .seconds(1), on: delays),
            log = Log()
        let d = D()
        let ask: @Sendable () -> D = {
            cache.value(for: 1) {
                log.add("r"); return log.count("r") == 1 ? d : D.resolved(6)
            }
        }
        watch(ask(), log, "a")
        return Program({ d.resolve(5) }, { cache.forget(1) }, { watch(ask(), log, "b") }) {
            cache.forgetAll()
            return all(
                expect(log.has("a5") && (log.has("b5") || log.has("b6")), log.text),
                expect(cache.underWayCount == 0 && cache.keptCount == 0, "kept"),
                expect(!delays.hasPending, "a timer goes on"), noReports())
        }
    }
}
