import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    @Suite("Rule D5: the sequence of a list with a limit") struct LazyLists {
        /// Counts endlessly from 0, and records how many elements were taken.
        private final class Endless: Sequence, IteratorProtocol, Sendable {
            let taken = Box(0)

            func next() -> Int? {
                taken.change { $0 += 1 }
                return taken.value - 1
            }
        }

        @Test("D5: an element is taken only when there is room for it; the sequence may be endless")
        func takesWithRoom() {
            let (numbers, sources) = (Endless(), (0..<4).map { _ in Deferred<Int>() })
            let list = DeferredList(numbers, limit: 2) { sources[$0] }
            #expect(numbers.taken.value == 0)
            let first = list.first()
            #expect(numbers.taken.value == 2)
            sources[1].reject(Boom(1))
            #expect(numbers.taken.value == 3)
            sources[2].resolve(2)
            #expect(outcome(first.map { "\($0)" }) == "(index: 2, value: 2)")
            #expect(numbers.taken.value == 3)
            sources[0].resolve(0)
            #expect(numbers.taken.value == 3)
        }

        @Test("D5: a cancel stops an endless list, whatever is cancelled", arguments: 0..<3)
        func cancelled(who: Int) {
            let (numbers, inputs) = (Endless(), Inputs(9))
            let list = DeferredList(numbers, limit: 2, inputs.begin)
            let results = list.results()
            let values = list.values()
            switch who {
            case 0:
                results.cancel()
                values.cancel()
                #expect(outcome(results.map { $0.count }) == "cancelled")
            case 1:
                list.cancel()
                #expect(outcome(results.map { $0.map(outcome) }) == #"["cancelled", "cancelled"]"#)
            default:
                values.cancel()
                #expect(inputs.log.all.isEmpty)
                results.cancel()
            }
            #expect(outcome(values) == "cancelled")
            #expect(inputs.log.all == ["cancels 0", "cancels 1"])
            #expect(numbers.taken.value == 2)
            #expect(outcome(list.first().map { $0.value }) == "cancelled")
            #expect(outcome(list.values()) == "cancelled")
            #expect(numbers.taken.value == 2)
        }

        @Test("D5: cancelled before it starts, values and first of an endless list fail, results is empty")
        func cancelledBefore() {
            let numbers = Endless()
            let list = DeferredList(numbers, limit: 2) { Deferred.resolved($0) }
            list.cancel()
            #expect(outcome(list.values()) == "cancelled")
            #expect(outcome(list.first().map { $0.value }) == "cancelled")
            #expect(outcome(list.results().map { $0.count }) == "0")
            #expect(numbers.taken.value == 0)
        }

        @Test("D5: when the loop over completed is left, those in progress go on and no more starts")
        func completedLeft() async {
            let (numbers, log) = (Endless(), Log())
            let sources = (0..<5).map { index in Deferred<Int>(canceller: { _ in log("cancels \(index)") }) }
            let list = DeferredList(numbers, limit: 2) { sources[$0] }
            sources[0].resolve(0)
            for await _ in list.completed { break }
            #expect(numbers.taken.value == 3)
            sources[1].resolve(1)
            #expect(numbers.taken.value == 3)
            #expect(log.all.isEmpty)
            // Another call for results starts more.
            let first = list.first()
            #expect(outcome(first.map { $0.index }) == "0")
        }

        @Test("A2: an endless list without a handle keeps nothing of the inputs that have settled")
        func constantMemory() async {
            let tracker = LeakTracker()
            var most = 0
            var count = 0
            let completed = DeferredList(Endless(), limit: 3) { _ in Deferred.resolved(tracker.begin()) }
                .completed
            for await _ in completed {
                most = max(most, tracker.alive)
                count += 1
                if count == 2000 { break }
            }
            #expect(most < 250)
        }

        @Test("A2: a list that was left, cancelled or decided is freed with its inputs", arguments: 0..<4)
        func freed(ending: Int) async {
            let tracker = LeakTracker()
            do {
                let pending = (0..<2).map { _ in Deferred<LeakTracker.Tracked>() }
                let list = DeferredList(Endless(), limit: 2) { [life = tracker.begin()] number in
                    life.use()
                    return number < 5 ? Deferred.resolved(tracker.begin()) : pending[number - 5]
                }
                switch ending {
                case 0: for await _ in list.completed { break }
                case 1: list.values().cancel()
                case 2: keep(list.first())
                default: list.cancel()
                }
                keep(pending)
            }
            #expect(tracker.alive == 0)
        }

        @Test("D4: inputs whose handles only the body or the sequence retains are cancelled, not abandoned")
        func bodyOutlivesCancel() {
            func inputs(_ log: Log) -> [Deferred<Int>] {
                let inputs = (0..<2).map { n in Deferred<Int>(canceller: { _ in log("cancels \(n)") }) }
                for input in inputs { input.finally { log(outcome($0)) } }
                return inputs
            }
            func byBody(_ log: Log) -> DeferredList<Int> {
                let inputs = inputs(log)
                return DeferredList(0..<2, limit: 1) { inputs[$0] }
            }
            func bySequence(_ log: Log) -> DeferredList<Int> { DeferredList(inputs(log), limit: 1) { $0 } }
            for make in [byBody, bySequence] {
                for cancelsList in [false, true] {
                    let log = Log()
                    var list = Optional(make(log))
                    let values = list!.values()
                    if cancelsList { list!.cancel() }
                    list = nil
                    if !cancelsList { values.cancel() }
                    #expect(log.all.sorted() == ["abandoned", "cancelled", "cancels 0"])
                    #expect(outcome(values) == "cancelled")
                }
            }
        }

        @Test("D3: the rest of a list with a limit is cancelled before the body that retains it is released")
        func bodyOutlivesRest() {
            let log = Log()
            let first = Deferred<Int>()
            func values() -> Deferred<[Int]> {
                let second = Deferred<Int>(canceller: { _ in log("cancels") })
                second.finally { log(outcome($0)) }
                return DeferredList(0..<3, limit: 2, consumesErrors: true, cancelsRemaining: true) {
                    $0 == 0 ? first : second
                }
                .values()
            }
            let waiting = values()
            first.reject(Boom(1))
            #expect(log.all == ["cancels", "cancelled"])
            #expect(outcome(waiting) == "Boom(1)")
        }
    }
}
