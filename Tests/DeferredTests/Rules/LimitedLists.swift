import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    @Suite("Rule D5: lists with a limit, and completed") struct LimitedLists {
        @Test("D5: it starts at its first results, values, first or completed, and no earlier")
        func startsWhenAsked() {
            for kind in 0..<4 {
                let inputs = Inputs(4)
                let list = DeferredList(0..<4, limit: 2, inputs.begin)
                #expect(inputs.begun.value.isEmpty)
                switch kind {
                case 0: _ = list.results()
                case 1: _ = list.values()
                case 2: _ = list.first()
                default: _ = list.completed
                }
                #expect(inputs.begun.value == [0, 1])
            }
        }

        @Test("D5: the next input starts only when one is settled: by value, failure or cancel")
        func oneByOne() {
            let inputs = Inputs(5)
            let results = DeferredList(0..<5, limit: 2, inputs.begin).results().map { $0.map(outcome) }
            inputs.all[1].resolve(1)
            #expect(inputs.begun.value == [0, 1, 2])
            inputs.all[0].reject(Boom(0))
            #expect(inputs.begun.value == [0, 1, 2, 3])
            inputs.all[3].cancel()
            #expect(inputs.begun.value == [0, 1, 2, 3, 4])
            inputs.all[2].resolve(2)
            #expect(outcome(results) == "pending")
            inputs.all[4].resolve(4)
            #expect(outcome(results) == #"["Boom(0)", "1", "2", "cancelled", "4"]"#)
        }

        @Test(
            "D5: never more than the limit are in progress, whatever threads settle them", arguments: [1, 3])
        func neverMore(limit: Int) {
            let count = 60
            let (underWay, most) = (Box(0), Box(0))
            let queue = ManualDispatcher()
            let list = DeferredList(0..<count, limit: limit) { index -> Deferred<Int> in
                underWay.change { $0 += 1 }
                most.change { $0 = max($0, underWay.value) }
                return Deferred { resolver in
                    queue.dispatch {
                        underWay.change { $0 -= 1 }
                        resolver.resolve(index)
                    }
                }
            }
            let values = list.values()
            onThreads(3) { _ in
                while outcome(values) == "pending" { queue.runNext() }
            }
            #expect(most.value == limit)
            #expect(outcome(values) == "\(Array(0..<count))")
        }

        @Test("D5: inputs that are settled when they are made take no stack")
        func settledInputs() {
            let values = DeferredList(0..<Extent.depth, limit: 3) { Deferred.resolved($0) }.values()
            #expect(outcome(values.map { $0.count }) == "\(Extent.depth)")
        }

        @Test("D5: when values has failed, none starts; those in progress go on unless cancelsRemaining")
        func failed() {
            for cancels in [false, true] {
                let inputs = Inputs(4)
                let list = DeferredList(0..<4, limit: 2, cancelsRemaining: cancels, inputs.begin)
                let values = list.values()
                inputs.all[0].reject(Boom(0))
                #expect(outcome(values) == "Boom(0)")
                #expect(inputs.log.all == (cancels ? ["cancels 1"] : []))
                inputs.all[1].resolve(1)
                // Results that are asked for later have a cancellation for what was never started.
                let later = list.results().map { $0.map(outcome).joined(separator: " ") }
                #expect(outcome(later) == "Boom(0) \(cancels ? "cancelled" : "1") cancelled cancelled")
                #expect(inputs.begun.value == [0, 1])
            }
        }

        @Test("D5: while another result is pending, one that is cancelled or fails stops nothing")
        func othersWantIt() {
            let inputs = Inputs(4)
            let list = DeferredList(0..<4, limit: 1, inputs.begin)
            let (values, results) = (list.values(), list.results().map { $0.map(outcome) })
            values.cancel()
            #expect(outcome(values) == "cancelled")
            for input in inputs.all { input.resolve(1) }
            #expect(inputs.begun.value == [0, 1, 2, 3])
            #expect(outcome(results) == #"["1", "1", "1", "1"]"#)
        }

        @Test("D5: a cancel while an input is being made cancels that input, too")
        func cancelledInside() {
            let log = Log()
            let own = Box<Deferred<[Int]>?>(nil)
            let first = Deferred<Int>()
            let second = Deferred<Int>(canceller: { _ in log("cancels") })
            let list = DeferredList(0..<3, limit: 1) { index -> Deferred<Int> in
                log("begins \(index)")
                if index == 0 { return first }
                own.value?.cancel()
                return second
            }
            own.value = list.values()
            first.resolve(1)
            #expect(outcome(own.value!) == "cancelled")
            #expect(log.all == ["begins 0", "begins 1", "cancels"])
        }

        @Test("D5: a limit below 1 is a clear error of every result")
        func badLimit() {
            let list = DeferredList([1], limit: 0) { Deferred.resolved($0) }
            #expect(outcome(list.values()).contains("limit must be at least 1, not 0"))
            #expect(outcome(list.first().map { $0.value }).contains("limit"))
        }

        @Test("U1: an input's unhandled failure is reported with where the list or the input was created")
        func unhandledInput() {
            let found = reports {
                let inputs = (0..<2).map { _ in Deferred<Int>() }
                let list = DeferredList(0..<2, limit: 2) { inputs[$0] }
                list.first().done { _ in }
                inputs[0].resolve(0)
                inputs[1].reject(Boom(1))
            }
            #expect(found.count == 1)
            #expect(found.allSatisfy { "\($0)".contains("LimitedLists.swift") })
        }

        @Test("D1: completed has the outcomes in order of completion, with their index, and ends")
        func completed() async {
            let inputs = (0..<3).map { _ in Deferred<Int>() }
            let completed = DeferredList(inputs).completed
            inputs[2].resolve(2)
            inputs[0].reject(Boom(0))
            inputs[1].resolve(1)
            var seen: [String] = []
            for await (index, result) in completed { seen.append("\(index): \(outcome(result))") }
            #expect(seen == ["2: 2", "0: Boom(0)", "1: 1"])
            for await _ in DeferredList([Deferred<Int>]()).completed {
                Issue.record("there is nothing to complete")
            }
        }

        @Test("D5: the cancel of a list ends its completed after the outcomes of what was in progress")
        func completedOfACancelledList() async {
            let inputs = (0..<5).map { _ in Deferred<Int>() }
            let list = DeferredList(0..<5, limit: 2) { inputs[$0] }
            let completed = list.completed
            list.cancel()
            var seen: [String] = []
            for await (index, result) in completed { seen.append("\(index): \(outcome(result))") }
            #expect(seen == ["0: cancelled", "1: cancelled"])
        }

        @Test("C6: a cancelled Task's loop over completed ends, and cancels what nothing else consumes")
        func completedCancelled() async {
            let inputs = (0..<2).map { _ in Deferred<Int>() }
            let other = inputs[1].map { $0 }
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                var count = 0
                for await _ in DeferredList(inputs).completed { count += 1 }
                return count
            }
            #expect(await task.value == 0)
            #expect(inputs.map(outcome) == ["cancelled", "pending"])
            inputs[1].resolve(1)
            #expect(outcome(other) == "1")
        }
    }
}
