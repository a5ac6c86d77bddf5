import CInterleaving
import Deferred

/// Lists.
func defineListsScenarios() {
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
}
