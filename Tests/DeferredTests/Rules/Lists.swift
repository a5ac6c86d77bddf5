import Deferred
import Testing

extension Rules {
    @Suite("Rules D1 to D4: lists") struct Lists {
        @Test("D1: results and values stand in input order, whatever order they came in")
        func inputOrder() {
            for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
                let inputs = (0..<3).map { _ in Deferred<Int>() }
                let values = DeferredList(inputs).values()
                let results = DeferredList(inputs).results().then { $0.map(outcome) }
                for index in order {
                    #expect([outcome(values), outcome(results)] == ["pending", "pending"])
                    inputs[index].resolve(index * 10)
                }
                #expect(outcome(values) == "[0, 10, 20]")
                #expect(outcome(results) == #"["0", "10", "20"]"#)
            }
        }

        @Test("D1: results gives failures their place, and never fails itself")
        func resultsWithFailures() {
            let inputs = (0..<3).map { _ in Deferred<Int>() }
            let results = DeferredList(inputs).results().then { $0.map(outcome) }
            inputs[2].reject(Boom(2))
            inputs[0].resolve(0)
            inputs[1].cancel()
            #expect(outcome(results) == #"["0", "cancelled", "Boom(2)"]"#)
        }

        @Test("D1: empty lists fire at once: results and values with [], first with .empty, gather() with ()")
        func empty() {
            let none: [Deferred<Int>] = []
            for list in [
                DeferredList(none), DeferredList(none, consumeErrors: true, cancelsRemaining: true),
                DeferredList([Int](), limit: 1) { _ in Deferred<Int>() },
            ] {
                #expect(outcome(list.results().then { $0.count }) == "0")
                #expect(outcome(list.values()) == "[]")
                #expect(outcome(list.first().then { $0.value }) == "empty")
                list.cancel()
            }
            let gathered: Deferred<()> = gather()
            #expect(outcome(gathered) == "()")
        }

        @Test("D1: inputs that have fired before count; all fired, the list fires at once")
        func firedBefore() {
            let list = DeferredList([Deferred.resolved(1), .resolved(2)])
            #expect(outcome(list.values()) == "[1, 2]")
            #expect(outcome(list.first().then { "\($0.index): \($0.value)" }) == "0: 1")
            #expect(outcome(DeferredList([Deferred.resolved(1), .rejected(Boom(1))]).values()) == "Boom(1)")
            let pending = Deferred<Int>()
            let mixed = DeferredList([.resolved(1), pending, .resolved(3)]).values()
            #expect(outcome(mixed) == "pending")
            pending.resolve(2)
            #expect(outcome(mixed) == "[1, 2, 3]")
        }

        @Test("D1: an input that fires during the list's construction counts once")
        func firesDuringConstruction() {
            let (one, two) = (Deferred<Int>(), Deferred<Int>())
            // Attaching to the first runs what fires the second.
            let first = Deferred.resolved(0).then { _ in one }
            let inputs = sequence(state: 0) { state -> Deferred<Int>? in
                state += 1
                switch state {
                case 1: return first
                case 2:
                    one.resolve(1)
                    return two
                case 3:
                    two.resolve(2)
                    return one
                default: return nil
                }
            }
            #expect(outcome(DeferredList(inputs).values()) == "[1, 2, 1]")
        }

        @Test("D1: gather keeps types and places")
        func gathers() {
            let (number, text, flag) = (Deferred<Int>(), Deferred<String>(), Deferred<Bool>())
            let all = gather(number, text, flag)
            flag.resolve(true)
            text.resolve("a")
            #expect(outcome(all.then { "\($0)" }) == "pending")
            number.resolve(1)
            #expect(outcome(all.then { "\($0.0) \($0.1) \($0.2)" }) == "1 a true")
            let failing = gather(Deferred<Int>(), Deferred<String>.rejected(Boom(1)))
            #expect(outcome(failing.then { _ in 0 }) == "Boom(1)")
        }

        @Test("D2: values fails with the first error as it is, at once")
        func valuesFailsFirst() {
            let inputs = (0..<3).map { _ in Deferred<Int>() }
            let values = DeferredList(inputs).values()
            inputs[1].reject(Boom(1))
            #expect(outcome(values) == "Boom(1)")
            _ = reports { inputs[0].reject(Boom(0)) }
            #expect(outcome(values) == "Boom(1)")
            inputs[0].fail { _ in }
        }

        @Test("D2: first fires with the first value and its index; failures before it do not count")
        func firstValue() {
            let inputs = (0..<3).map { _ in Deferred<Int>() }
            let first = DeferredList(inputs).first()
            inputs[0].reject(Boom(0))
            #expect(outcome(first.then { $0.value }) == "pending")
            inputs[2].resolve(2)
            inputs[1].resolve(1)
            #expect(outcome(first.then { "\($0.index): \($0.value)" }) == "2: 2")
        }

        @Test("D2: first fails only when all have, with the error that came last")
        func firstFails() {
            let inputs = (0..<3).map { _ in Deferred<Int>() }
            let first = DeferredList(inputs).first().then { $0.value }
            inputs[2].reject(Boom(2))
            inputs[0].reject(Boom(0))
            #expect(outcome(first) == "pending")
            inputs[1].reject(Boom(1))
            #expect(outcome(first) == "Boom(1)")
        }

        @Test(
            "D3: errors before the list has fired are the list's; those after are U1's, unless consumeErrors")
        func lateErrors() {
            for consumes in [false, true] {
                let found = reports {
                    let inputs = (0..<3).map { _ in Deferred<Int>() }
                    DeferredList(inputs, consumeErrors: consumes).first().then { _ in }
                    inputs[0].reject(Boom(0))
                    inputs[1].resolve(1)
                    inputs[2].reject(Boom(2))
                }
                #expect(found.count == (consumes ? 0 : 1))
            }
            let found = reports {
                let inputs = (0..<2).map { _ in Deferred<Int>() }
                DeferredList(inputs).values().fail { _ -> Void in }
                inputs[0].reject(Boom(0))
                inputs[1].reject(Boom(1))
            }
            #expect(found.count == 1)
            let handled = reports {
                let inputs = (0..<2).map { _ in Deferred<Int>() }
                DeferredList(inputs).values().fail { _ -> Void in }
                inputs[1].fail { _ in }
                inputs[0].reject(Boom(0))
                inputs[1].reject(Boom(1))
            }
            #expect(handled.isEmpty)
        }

        @Test("D3: without cancelsRemaining the other inputs go on")
        func othersGoOn() {
            let log = Log()
            let inputs = (0..<3).map { index in Deferred<Int>(canceller: { _ in log("\(index)") }) }
            _ = DeferredList(inputs).first()
            inputs[1].resolve(1)
            #expect(log.entries.isEmpty)
            #expect(inputs.map(outcome) == ["pending", "1", "pending"])
        }

        @Test(
            "D3: cancelsRemaining cancels those still pending, in input order, after the list's own callbacks"
        )
        func cancelsRemaining() {
            for isValues in [false, true] {
                let log = Log()
                let inputs = (0..<4).map { index in Deferred<Int>(canceller: { _ in log("cancels \(index)") })
                }
                let list = DeferredList(inputs, cancelsRemaining: true)
                if isValues {
                    list.values().fail { error -> Void in log("list \(name(of: error))") }
                    inputs[2].reject(Boom(2))
                } else {
                    list.first().then { log("list \($0.index)") }
                    inputs[2].resolve(2)
                }
                #expect(
                    log.entries == [
                        isValues ? "list Boom(2)" : "list 2", "cancels 0", "cancels 1", "cancels 3",
                    ])
                #expect([0, 1, 3].allSatisfy { outcome(inputs[$0]) == "cancelled" })
            }
        }

        @Test("D3: what others consume is not cancelled with the rest (C3)")
        func remainingShared() {
            let inputs = (0..<3).map { _ in Deferred<Int>() }
            let other = inputs[0].then { $0 }
            _ = DeferredList(inputs, cancelsRemaining: true).first()
            inputs[1].resolve(1)
            #expect(inputs.map(outcome) == ["pending", "1", "cancelled"])
            inputs[0].resolve(0)
            #expect(outcome(other) == "0")
        }

        @Test("D3: all inputs are attached before any is cancelled, also when one has fired before")
        func attachedBeforeCancelled() {
            let log = Log()
            let last = Deferred<Int>(canceller: { _ in log("last") })
            let other = last.then { $0 }
            let first = Deferred<Int>(canceller: { _ in
                // If the list did not watch `last` yet, this would be its only consumer, and end it.
                other.cancel()
                log("first")
            })
            let list = DeferredList([first, .resolved(1), last], cancelsRemaining: true)
            #expect(outcome(list.first().then { $0.index }) == "1")
            #expect(log.entries == ["first", "last"])
        }

        @Test("D3: with results, cancelsRemaining has nothing to cancel")
        func resultsCancelsNothing() {
            let inputs = (0..<2).map { _ in Deferred<Int>() }
            let results = DeferredList(inputs, cancelsRemaining: true).results().then { $0.map(outcome) }
            inputs[0].reject(Boom(0))
            #expect(outcome(inputs[1]) == "pending")
            inputs[1].resolve(1)
            #expect(outcome(results) == #"["Boom(0)", "1"]"#)
        }

        @Test(
            "D4: cancelling a list's Deferred fails it with CancellationError, then cancels the inputs still pending, in order"
        )
        func cancelsList() {
            for kind in 0..<4 {
                let log = Log()
                let inputs = (0..<3).map { index in Deferred<Int>(canceller: { _ in log("cancels \(index)") })
                }
                let list = DeferredList(inputs)
                let whole: Deferred<Void> =
                    switch kind {
                    case 0: list.values().both { log(outcome($0)) }
                    case 1: list.results().both { log(outcome($0)) }
                    case 2: list.first().both { log(outcome($0)) }
                    default: gather(inputs[0], inputs[1], inputs[2]).both { log(outcome($0)) }
                    }
                inputs[1].resolve(1)
                if kind == 2 {
                    #expect(log.entries == ["(index: 1, value: 1)"])
                    continue
                }
                whole.cancel()
                #expect(log.entries == ["cancelled", "cancels 0", "cancels 2"])
                #expect(inputs.map(outcome) == ["cancelled", "1", "cancelled"])
            }
        }

        @Test("D4: a canceller that fires its input changes nothing for the cancelled list")
        func cancellerFiresInput() {
            let inputs = (0..<2).map { _ in Deferred<Int>(canceller: { $0.resolve(5) }) }
            let list = DeferredList(inputs).values()
            list.cancel()
            #expect(outcome(list) == "cancelled")
            #expect(inputs.map(outcome) == ["5", "5"])
        }

        @Test("D4: inputs that others consume go on")
        func cancelSharedInputs() {
            let inputs = (0..<2).map { _ in Deferred<Int>() }
            let one = DeferredList(inputs).values()
            let two = DeferredList(inputs).values()
            one.cancel()
            #expect([outcome(one), outcome(two)] == ["cancelled", "pending"])
            #expect(inputs.map(outcome) == ["pending", "pending"])
            two.cancel()
            #expect(inputs.map(outcome) == ["cancelled", "cancelled"])
        }

        @Test("D4: each call of values, results and first is a consumer of its own")
        func eachCallConsumes() {
            let inputs = (0..<2).map { _ in Deferred<Int>() }
            let list = DeferredList(inputs)
            let (values, results, first) = (list.values(), list.results(), list.first())
            values.cancel()
            first.cancel()
            #expect(inputs.map(outcome) == ["pending", "pending"])
            results.cancel()
            #expect(inputs.map(outcome) == ["cancelled", "cancelled"])
        }

        @Test("D4: one Deferred may stand in a list twice, and is one consumer's")
        func duplicates() {
            let log = Log()
            let (one, two) = (
                Deferred<Int>(canceller: { _ in log("one") }), Deferred<Int>(canceller: { _ in log("two") })
            )
            let values = DeferredList([one, two, one]).values()
            let cancelled = DeferredList([one, two, one]).values()
            cancelled.cancel()
            #expect(log.entries.isEmpty)
            one.resolve(1)
            two.resolve(2)
            #expect(outcome(values) == "[1, 2, 1]")

            let shared = Deferred<Int>(canceller: { _ in log("shared") })
            let list = DeferredList([shared, shared, shared]).values()
            list.cancel()
            #expect(log.entries == ["shared"])
            #expect([outcome(list), outcome(shared)] == ["cancelled", "cancelled"])

            let failing = Deferred<Int>()
            let failed = DeferredList([failing, failing]).values()
            failing.reject(Boom(1))
            #expect(outcome(failed) == "Boom(1)")
        }

        @Test("D4: cancelling the list itself cancels each input as its own cancel does")
        func listCancel() {
            let inputs = (0..<2).map { _ in Deferred<Int>() }
            let other = inputs[0].then { $0 }
            let list = DeferredList(inputs)
            let results = list.results().then { $0.map(outcome) }
            list.cancel()
            #expect(inputs.map(outcome) == ["cancelled", "cancelled"])
            #expect(outcome(other) == "cancelled")
            #expect(outcome(results) == #"["cancelled", "cancelled"]"#)
        }

        @Test("D4: cancelling a position after a list cancels the list by C3")
        func cancelBelowList() {
            let input = Deferred<Int>()
            let values = DeferredList([input]).values()
            let (one, two) = (values.then { $0.count }, values.then { $0.count })
            one.cancel()
            #expect([outcome(one), outcome(values), outcome(input)] == ["cancelled", "pending", "pending"])
            two.cancel()
            #expect(
                [outcome(two), outcome(values), outcome(input)] == ["cancelled", "cancelled", "cancelled"])
        }

        @Test(
            "C5, D4: an input that has fired but is paused is taken or cancelled for the list, and the list ends"
        )
        func pausedInput() {
            let input = Deferred<Int>()
            input.pause()
            let list = DeferredList([input]).values()
            input.resolve(1)
            list.cancel()
            #expect(outcome(list) == "cancelled")
            input.unpause()
            #expect([outcome(list), outcome(input)] == ["cancelled", "1"])
        }

        @Test("T1: inputs that fire on many threads at once complete the list once, in input order")
        func race() {
            for _ in 0..<200 {
                let inputs = (0..<4).map { _ in Deferred<Int>() }
                let log = Log()
                DeferredList(inputs).values().then { log("\($0)") }
                let first = DeferredList(inputs).first()
                gather(inputs[0], inputs[3]).then { log("\($0 + $1)") }
                onThreads(4) { inputs[$0].resolve($0) }
                #expect(log.entries.sorted() == ["3", "[0, 1, 2, 3]"])
                #expect(outcome(first.then { $0.index == $0.value }) == "true")
            }
        }

        @Test("T1: a list's cancel and its inputs' firing race: it ends once, one way or the other")
        func cancelRace() {
            for _ in 0..<200 {
                let inputs = (0..<2).map { _ in Deferred<Int>() }
                let list = DeferredList(inputs, cancelsRemaining: true).values()
                let log = Log()
                list.both { log(outcome($0)) }
                onThreads(3) { thread in
                    if thread == 2 { list.cancel() } else { _ = reports { inputs[thread].resolve(thread) } }
                }
                #expect(log.entries.count == 1)
                #expect(["[0, 1]", "cancelled"].contains(log.entries[0]))
            }
        }
    }
}
