import CInterleaving
import Deferred

func defineListsScenarios() {
    // Lists
    scenario("list-values-resolve-fail-cancel") {
        let x = D(), y = D(), log = Log()
        let l = DeferredList([x, y]).values()
        l.both { log.within("\(show($0))") }
        return Program({ x.resolve(1) }, { y.reject(E1()) }, { l.cancel() }) {
            all(
                expect(["E1", "cancelled"].contains(log.text), log.text),
                expect(x.currentResult != nil && y.currentResult != nil, "an input is pending"))
        }
    }
    scenario("list-results-resolve-resolve") {
        let x = D(), y = D(), log = Log()
        DeferredList([x, y]).results().done { log.within($0.map { show($0) }.joined(separator: ",")) }
        return Program({ x.resolve(1) }, { y.resolve(2) }) {
            all(expect(log.text == "1,2", log.text), noReports())
        }
    }
    scenario("list-results-resolve-resolve-cancel") {
        let x = D(), y = D(), log = Log()
        let l = DeferredList([x, y]).results()
        l.both { log.within("\(show($0.map { $0.map { show($0) }.joined(separator: ",") }))") }
        return Program({ x.resolve(1) }, { y.resolve(2) }, { l.cancel() }) {
            all(expect(["1,2", "cancelled"].contains(log.text), log.text), noReports())
        }
    }
    scenario("list-start-resolve-resolve") {
        let x = D(), y = D(), log = Log()
        return Program(
            { DeferredList([x, y]).values().done { log.within($0.map { "\($0)" }.joined(separator: ",")) } },
            { x.resolve(1) }, { y.resolve(2) }
        ) { all(expect(log.text == "1,2", log.text), noReports()) }
    }
    scenario("list-first-cancelsRemaining") {
        let x = D(), log = Log(), y = D(canceller: { _ in log.add("X") })
        let l = DeferredList([x, y], cancelsRemaining: true).first()
        l.both { log.within("\(show($0.map { $0.value }))") }
        return Program({ x.resolve(1) }, { y.resolve(2) }, { l.cancel() }) {
            let last = log.entries.filter { $0 != "X" }
            return all(
                expect(last.count == 1 && ["1", "2", "cancelled"].contains(last[0]), log.text),
                expect(x.currentResult != nil && y.currentResult != nil, "pending"), noReports())
        }
    }
    scenario("list-two-one-input-cancel") {
        let log = Log(), x = D(canceller: { _ in log.add("X") })
        let l = DeferredList([x, x]).results(), m = DeferredList([x]).results()
        return Program({ l.cancel() }, { m.cancel() }) {
            all(
                expect(
                    log.text == "X" && show(x.currentResult) == "cancelled", log.text + show(x.currentResult)),
                expect(l.currentResult != nil && m.currentResult != nil, "list pending"), noReports())
        }
    }
    scenario("list-two-one-input-cancel-resolve") {
        let log = Log(), x = D(canceller: { _ in log.add("X") })
        let l = DeferredList([x, x]).results(), m = DeferredList([x]).results()
        return Program({ l.cancel() }, { m.cancel() }, { x.resolve(3) }) {
            all(
                expect(x.currentResult != nil && l.currentResult != nil && m.currentResult != nil, "pending"),
                expect(log.entries.count <= 1, log.text), noReports())
        }
    }
    scenario("list-late-error") {
        let x = Box(D()), y = Box(D())
        let l = DeferredList([x.value!, y.value!]).values()
        _ = l.recover { _ in [] }
        return Program({ x.take()!.reject(E1()) }, { y.take()!.reject(E1()) }) {
            expect(reports == ["unhandled:E1"], "\(reports)")
        }
    }
    scenario("list-late-error-consumed") {
        let x = Box(D()), y = Box(D())
        let l = DeferredList([x.value!, y.value!], consumeErrors: true).values()
        _ = l.recover { _ in [] }
        return Program({ x.take()!.reject(E1()) }, { y.take()!.reject(E1()) }, { l.cancel() }) { noReports() }
    }
    scenario("list-limit-resolve-resolve-cancel") {
        let x = [D(), D(), D()], log = Log()
        let list = DeferredList([0, 1, 2], limit: 1) { i in
            log.add("b\(i)"); return x[i]
        }
        let l = list.results()
        watch(l.map { _ in 9 }, log, "=")
        return Program({ x[0].resolve(1) }, { x[1].resolve(2) }, { l.cancel() }) {
            x[2].resolve(3)
            let begun = log.entries.filter { $0.hasPrefix("b") }
            return all(
                expect(log.has("=9") || log.has("=cancelled"), log.text),
                expect(begun == Array(["b0", "b1", "b2"].prefix(begun.count)), log.text),
                expect(log.has("=cancelled") || begun.count == 3, log.text), noReports())
        }
    }
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
    scenario("list-limit-start-cancel") {
        let log = Log(), x = D(canceller: { _ in log.add("X") })
        let list = DeferredList([0, 1], limit: 1) { i in
            log.add("b\(i)"); return x
        }
        let l = Box<Deferred<[Result<Int, any Error>]>>(nil)
        let first = D()
        let list2 = DeferredList([0, 1, 2], limit: 2) { i in
            log.add("c\(i)"); return i == 0 ? first : x
        }
        l.value = list2.results()
        return Program({ first.resolve(1) }, { l.value!.cancel() }) {
            hold(list)
            let r = show(l.value!.currentResult.map { $0.map { _ in 1 } })
            return all(
                expect(r == "cancelled", r + log.text),
                expect(show(x.currentResult) == "cancelled", log.text), noReports())
        }
    }
    scenario("gather-resolve-resolve-cancel") {
        let x = D(), y = D(), log = Log()
        let g = gather(x, y)
        watch(g.map { a, b in a + b }, log, "=")
        return Program({ x.resolve(1) }, { y.resolve(2) }, { g.cancel() }) {
            all(expect(["=3", "=cancelled"].contains(log.text), log.text), noReports())
        }
    }
}
