import CInterleaving
import Deferred
import DeferredTesting

func defineDispatchersScenarios() {
    // Dispatchers
    for drops in [false, true] {
        scenario("dispatch-cancel-\(drops ? "drop" : "run")") {
            let d = D(), log = Log(), box = WorkBox()
            let c = d.map(on: Stored(box: box)) { v -> Int in
                log.within("c"); return v
            }
            watch(c, log, "=")
            return Program({ d.resolve(1) }, { drops ? box.dropAll() : box.runAll() }, { c.cancel() }) {
                drops ? box.dropAll() : box.runAll()
                let r = log.entries.filter { $0.hasPrefix("=") }
                return all(
                    expect(r.count == 1, log.text),
                    expect(["=1", "=cancelled", "=abandoned"].contains(r[0]), log.text),
                    expect((r[0] == "=1") == log.has("c"), log.text), noReports())
            }
        }
        scenario("dispatch-nested-cancel-\(drops ? "drop" : "run")") {
            let d = D(), log = Log(), box = WorkBox(), inner = D(canceller: { _ in log.add("X") })
            let c = d.then(on: Stored(box: box)) { _ -> D in
                log.within("c"); return inner
            }
            watch(c, log, "=")
            return Program({ d.resolve(1) }, { drops ? box.dropAll() : box.runAll() }, { c.cancel() }) {
                drops ? box.dropAll() : box.runAll()
                hold(inner); let r = log.entries.filter { $0.hasPrefix("=") }
                return all(
                    expect(r.count == 1, log.text),
                    expect(
                        drops ? ["=cancelled", "=abandoned"].contains(r[0]) : r[0] == "=cancelled", log.text),
                    expect(log.has("c") == log.has("X"), log.text), noReports())
            }
        }
    }
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
    // A dispatcher that is released with work in it releases the work, and its link fails.
    scenario("dispatch-released-dispatcher") {
        let dispatcher = Box(ManualDispatcher()), s = D(), log = Log()
        watch(s.map(on: dispatcher.value!) { $0 + 1 }, log, "=")
        return Program({ s.resolve(1) }, { _ = dispatcher.take() }) {
            all(expect(log.text == "=abandoned", log.text), noReports())
        }
    }
    // A cancel that has returned before the work runs: the callback receives no value (C5).
    scenario("dispatch-cancelled-run") {
        let d = D(), log = Log(), box = WorkBox()
        let c = d.map(on: Stored(box: box)) { v -> Int in
            log.within("c"); return v
        }
        watch(c, log, "=")
        d.resolve(1)
        return Program(
            {
                c.cancel(); box.runAll()
            }, { watch(c, log, "+") }
        ) {
            all(expect(log.entries.sorted() == ["+cancelled", "=cancelled"], log.text), noReports())
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
