import CInterleaving
import Deferred
import Interleaving
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

/// Two delegates that are asked on a dispatcher, or the second at once.
private final class Asked {
    let delegates = MulticastDelegate<Delegate>()
    let log = Log(), box = WorkBox()
    let a, b: Delegate

    init(_ second: (any Dispatcher)?? = .none) {
        (a, b) = (Delegate(log, "a"), Delegate(log, "b"))
        delegates.add(a, on: Stored(box: box))
        delegates.add(b, on: second ?? Stored(box: box))
    }

    /// Checks when the remaining work has been done: the answers to the question, if a result has to be one of these, and
    /// that nobody is asked twice.
    func expectEnd(_ ends: String...) -> String? {
        let end = log.entries.filter { $0.hasPrefix("=") }
        return all(
            expect(end.count == 1 && ends.contains(end[0]), log.text),
            expect(log.count("a") <= 1 && log.count("b") <= 1, log.text), noReports())
    }
}

/// Multicast's questions to several delegates.
func defineAnswersScenarios() {
    for drops in [false, true] {
        scenario("answers-collect-\(drops ? "release" : "run")") {
            let it = Asked()
            let work = { drops ? it.box.dropAll() : it.box.runAll() }
            let answers = Box<Deferred<[Int]>>(nil)
            return Program(
                {
                    answers.value = it.delegates.collect { $0.ask() }
                    watch(answers.value!, it.log, "=")
                }, work, work
            ) {
                work()
                let asked = it.log.has("a") && it.log.has("b")
                return all(
                    it.expectEnd(drops ? "=abandoned" : "=[1, 1]"), expect(drops || asked, it.log.text))
            }
        }
    }
    scenario("answers-collect-remove") {
        let it = Asked()
        watch(it.delegates.collect { $0.ask() }, it.log, "=")
        return Program({ it.delegates.remove(it.a) }, { it.box.runAll() }) {
            it.box.runAll()
            return all(
                it.expectEnd(it.log.has("a") ? "=[1, 1]" : "=[1]"), expect(it.log.has("b"), it.log.text))
        }
    }
    scenario("answers-collect-cancel") {
        let it = Asked()
        let collected = it.delegates.collect { $0.ask() }
        watch(collected, it.log, "=")
        return Program({ collected.cancel() }, { it.box.runAll() }) {
            let asked = it.log.has("a") && it.log.has("b")
            return it.expectEnd("=cancelled", asked ? "=[1, 1]" : "=cancelled")
        }
    }
    for order in [MulticastOrder.sequentially, .concurrently] {
        scenario("answers-all-\(order)") {
            let it = Asked()
            return Program(
                { watch(it.delegates.all(asking: order) { $0.ask() == 0 }, it.log, "=") },
                { it.box.runAll() }, { it.box.runAll() }
            ) {
                it.box.runAll()
                return all(
                    it.expectEnd("=false"), expect(it.log.has("a") || it.log.has("b"), it.log.text),
                    expect(order == .concurrently || !it.log.has("b"), it.log.text))
            }
        }
        scenario("answers-any-cancel-\(order)") {
            let it = Asked(.some(nil))
            let answer = it.delegates.any(asking: order) { $0.ask() == 0 }
            watch(answer, it.log, "=")
            return Program({ it.box.runAll() }, { answer.cancel() }) { it.expectEnd("=false", "=cancelled") }
        }
    }
}
