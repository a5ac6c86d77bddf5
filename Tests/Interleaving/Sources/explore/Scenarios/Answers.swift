import CInterleaving
import Deferred
import Multicast

/// A delegate that records that it is asked.
final class Delegate: Sendable {
    let log: Log
    let name: String

    init(_ log: Log, _ name: String) {
        self.log = log
        self.name = name
    }

    func ask() -> Int {
        log.add(name)
        return 1
    }
}

/// Multicast's questions to several delegates.
func defineAnswersScenarios() {
    for drops in [false, true] {
        scenario("answers-collect-\(drops ? "release" : "run")") {
            let m = MulticastDelegate<Delegate>(), log = Log(), box = WorkBox()
            let a = Delegate(log, "a"), b = Delegate(log, "b")
            m.add(a, on: Stored(box: box))
            m.add(b, on: Stored(box: box))
            let answers = Box<Deferred<[Int]>>(nil)
            return Program(
                {
                    let collected = m.collect { $0.ask() }
                    watch(collected, log, "=")
                    answers.value = collected
                }, { drops ? box.dropAll() : box.runAll() }, { drops ? box.dropAll() : box.runAll() }
            ) {
                drops ? box.dropAll() : box.runAll()
                hold(a, b)
                let end = log.entries.filter { $0.hasPrefix("=") }
                return all(
                    expect(end == [drops ? "=abandoned" : "=[1, 1]"], log.text),
                    expect(drops || log.count("a") == 1 && log.count("b") == 1, log.text), noReports())
            }
        }
    }
    scenario("answers-collect-remove") {
        let m = MulticastDelegate<Delegate>(), log = Log(), box = WorkBox()
        let a = Delegate(log, "a"), b = Delegate(log, "b")
        m.add(a, on: Stored(box: box))
        m.add(b, on: Stored(box: box))
        let collected = m.collect { $0.ask() }
        watch(collected, log, "=")
        return Program({ m.remove(a) }, { box.runAll() }) {
            box.runAll()
            hold(a, b)
            return all(
                expect(log.has(log.has("a") ? "=[1, 1]" : "=[1]"), log.text),
                expect(log.count("a") <= 1 && log.count("b") == 1, log.text), noReports())
        }
    }
    scenario("answers-collect-cancel") {
        let m = MulticastDelegate<Delegate>(), log = Log(), box = WorkBox()
        let a = Delegate(log, "a")
        m.add(a, on: Stored(box: box))
        let collected = m.collect { $0.ask() }
        watch(collected, log, "=")
        return Program({ collected.cancel() }, { box.runAll() }) {
            hold(a)
            let end = log.entries.filter { $0.hasPrefix("=") }
            return all(
                expect(end == ["=cancelled"] || end == ["=[1]"] && log.has("a"), log.text), noReports())
        }
    }
    for order in [AskingOrder.sequentially, .concurrently] {
        scenario("answers-all-\(order)") {
            let m = MulticastDelegate<Delegate>(), log = Log(), box = WorkBox()
            let a = Delegate(log, "a"), b = Delegate(log, "b")
            m.add(a, on: Stored(box: box))
            m.add(b, on: Stored(box: box))
            return Program(
                { watch(m.all(asking: order) { $0.ask() == 0 }, log, "=") }, { box.runAll() },
                { box.runAll() }
            ) {
                box.runAll()
                hold(a, b)
                let end = log.entries.filter { $0.hasPrefix("=") }
                return all(
                    expect(end == ["=false"] && log.count("a") + log.count("b") >= 1, log.text),
                    expect(order == .concurrently || !log.has("b"), log.text), noReports())
            }
        }
        scenario("answers-any-cancel-\(order)") {
            let m = MulticastDelegate<Delegate>(), log = Log(), box = WorkBox()
            let a = Delegate(log, "a"), b = Delegate(log, "b")
            m.add(a, on: Stored(box: box))
            m.add(b, on: nil)
            let answer = m.any(asking: order) { $0.ask() == 0 }
            watch(answer, log, "=")
            return Program({ box.runAll() }, { answer.cancel() }) {
                hold(a, b)
                let end = log.entries.filter { $0.hasPrefix("=") }
                return all(
                    expect(end == ["=false"] || end == ["=cancelled"], log.text),
                    expect(log.count("a") <= 1 && log.count("b") <= 1, log.text), noReports())
            }
        }
    }
    // Consumers of the result run where the last delegate answered.
    scenario("answers-thread") {
        let m = MulticastDelegate<Delegate>(), log = Log(), box = WorkBox()
        let a = Delegate(log, "a")
        m.add(a, on: Stored(box: box))
        let threads = Box<[UInt]>([])
        return Program(
            { m.all { $0.ask() == 1 }.done { _ in threads.value!.append(il_thread()) } }, { box.runAll() }
        ) {
            box.runAll()
            hold(a)
            return expect(threads.value!.count == 1, "ran \(threads.value!.count) times")
        }
    }
    scenario("answers-reduce-remove") {
        let m = MulticastDelegate<Delegate>(), log = Log(), box = WorkBox()
        let a = Delegate(log, "a"), b = Delegate(log, "b")
        m.add(a, on: Stored(box: box))
        m.add(b, on: Stored(box: box))
        let sum = m.reduce(into: 0) { $0 += $1.ask() }
        watch(sum, log, "=")
        return Program({ m.remove(b) }, { box.runAll() }) {
            box.runAll()
            hold(a, b)
            return all(expect(log.has(log.has("b") ? "=2" : "=1"), log.text), noReports())
        }
    }
}
