import Deferred
import Testing

extension Rules {
    @Suite("Rules D1 to D4: lists") struct Lists {
        @Test("D1: results and values are in input order, whatever the order of completion")
        func inputOrder() {
            for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
                let inputs = (0..<3).map { _ in Deferred<Int>() }
                let values = DeferredList(inputs).values()
                let results = DeferredList(inputs).results().map { $0.map(outcome) }
                for index in order {
                    #expect([outcome(values), outcome(results)] == ["pending", "pending"])
                    inputs[index].resolve(index * 10)
                }
                #expect(outcome(values) == "[0, 10, 20]")
                #expect(outcome(results) == #"["0", "10", "20"]"#)
            }
        }

        @Test("D1: results has failures at their index, and never fails itself")
        func resultsWithFailures() {
            let inputs = (0..<3).map { _ in Deferred<Int>() }
            let results = DeferredList(inputs).results().map { $0.map(outcome) }
            inputs[2].reject(Boom(2))
            inputs[0].resolve(0)
            inputs[1].cancel()
            #expect(outcome(results) == #"["0", "cancelled", "Boom(2)"]"#)
        }

        @Test(
            "D1: empty lists settle at once: results and values with [], first with .empty, gather() with ()")
        func empty() {
            let none: [Deferred<Int>] = []
            for list in [
                DeferredList(none), DeferredList(none, consumeErrors: true, cancelsRemaining: true),
                DeferredList([Int](), limit: 1) { _ in Deferred<Int>() },
            ] {
                #expect(outcome(list.results().map { $0.count }) == "0")
                #expect(outcome(list.values()) == "[]")
                #expect(outcome(list.first().map { $0.value }) == "empty")
                list.cancel()
            }
            let gathered: Deferred<()> = gather()
            #expect(outcome(gathered) == "()")
        }

        @Test("D1: inputs that are settled count; if all are, the list settles at once")
        func firedBefore() {
            let list = DeferredList([Deferred.resolved(1), .resolved(2)])
            #expect(outcome(list.values()) == "[1, 2]")
            #expect(outcome(list.first().map { "\($0.index): \($0.value)" }) == "0: 1")
            #expect(outcome(DeferredList([Deferred.resolved(1), .rejected(Boom(1))]).values()) == "Boom(1)")
            let pending = Deferred<Int>()
            let mixed = DeferredList([.resolved(1), pending, .resolved(3)]).values()
            #expect(outcome(mixed) == "pending")
            pending.resolve(2)
            #expect(outcome(mixed) == "[1, 2, 3]")
        }

        @Test("D1: an input that settles while the list is being created counts once")
        func firesDuringConstruction() {
            let (one, two) = (Deferred<Int>(), Deferred<Int>())
            // Attaching to the first runs the callback that completes the second.
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

        @Test(
            "D3: gather with cancelsRemaining cancels the inputs still pending, in order, after its callbacks"
        )
        func gatherCancelsRemaining() {
            for cancels in [true, false] {
                let log = Log()
                let numbers = (0..<2).map { index in
                    Deferred<Int>(canceller: { _ in log("cancels \(index)") })
                }
                let text = Deferred<String>()
                let all = gather(numbers[0], text, numbers[1], cancelsRemaining: cancels)
                all.both { _ in log("gathered") }
                text.reject(Boom(1))
                #expect(outcome(all.map { "\($0)" }) == "Boom(1)")
                #expect(log.all == (cancels ? ["gathered", "cancels 0", "cancels 1"] : ["gathered"]))
                #expect(
                    numbers.map(outcome) == (cancels ? ["cancelled", "cancelled"] : ["pending", "pending"]))
                keep(numbers)
            }
        }

        @Test("D3, U1: an error after gather is settled is reported, unless consumeErrors")
        func gatherConsumesErrors() {
            for consumes in [true, false] {
                let found = reports {
                    let (number, text) = (Deferred<Int>(), Deferred<String>())
                    gather(number, text, consumeErrors: consumes).fail { _ in }
                    number.reject(Boom(1))
                    text.reject(Boom(2))
                }
                #expect(found.count == (consumes ? 0 : 1))
            }
        }

        @Test("D1: gather keeps types and order")
        func gathers() {
            let (number, text, flag) = (Deferred<Int>(), Deferred<String>(), Deferred<Bool>())
            let all = gather(number, text, flag)
            flag.resolve(true)
            text.resolve("a")
            #expect(outcome(all.map { "\($0)" }) == "pending")
            number.resolve(1)
            #expect(outcome(all.map { "\($0.0) \($0.1) \($0.2)" }) == "1 a true")
            let failing = gather(Deferred<Int>(), Deferred<String>.rejected(Boom(1)))
            #expect(outcome(failing.map { _ in 0 }) == "Boom(1)")
        }

        @Test("D2: values fails with the first error, unchanged, at once")
        func valuesFailsFirst() {
            let inputs = (0..<3).map { _ in Deferred<Int>() }
            let values = DeferredList(inputs).values()
            inputs[1].reject(Boom(1))
            #expect(outcome(values) == "Boom(1)")
            _ = reports { inputs[0].reject(Boom(0)) }
            #expect(outcome(values) == "Boom(1)")
            inputs[0].fail { _ in }
        }

        @Test("D2: first is resolved with the first value and its index; failures before it do not count")
        func firstValue() {
            let inputs = (0..<3).map { _ in Deferred<Int>() }
            let first = DeferredList(inputs).first()
            inputs[0].reject(Boom(0))
            #expect(outcome(first.map { $0.value }) == "pending")
            inputs[2].resolve(2)
            inputs[1].resolve(1)
            #expect(outcome(first.map { "\($0.index): \($0.value)" }) == "2: 2")
        }

        @Test("D2: first fails only when all have, with the error that came last")
        func firstFails() {
            let inputs = (0..<3).map { _ in Deferred<Int>() }
            let first = DeferredList(inputs).first().map { $0.value }
            inputs[2].reject(Boom(2))
            inputs[0].reject(Boom(0))
            #expect(outcome(first) == "pending")
            inputs[1].reject(Boom(1))
            #expect(outcome(first) == "Boom(1)")
        }

        @Test(
            "D3: errors before the list is settled belong to it; later ones fall under U1, unless consumeErrors"
        )
        func lateErrors() {
            for consumes in [false, true] {
                let found = reports {
                    let inputs = (0..<3).map { _ in Deferred<Int>() }
                    DeferredList(inputs, consumeErrors: consumes).first().done { _ in }
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

        @Test("D3: without cancelsRemaining the other inputs continue")
        func othersGoOn() {
            let log = Log()
            let inputs = (0..<3).map { index in Deferred<Int>(canceller: { _ in log("\(index)") }) }
            _ = DeferredList(inputs).first()
            inputs[1].resolve(1)
            #expect(log.all.isEmpty)
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
                    list.first().done { log("list \($0.index)") }
                    inputs[2].resolve(2)
                }
                #expect(
                    log.all == [
                        isValues ? "list Boom(2)" : "list 2", "cancels 0", "cancels 1", "cancels 3",
                    ])
                #expect([0, 1, 3].allSatisfy { outcome(inputs[$0]) == "cancelled" })
            }
        }

        @Test("D3: what others consume is not cancelled with the rest (C3)")
        func remainingShared() {
            let inputs = (0..<3).map { _ in Deferred<Int>() }
            let other = inputs[0].map { $0 }
            _ = DeferredList(inputs, cancelsRemaining: true).first()
            inputs[1].resolve(1)
            #expect(inputs.map(outcome) == ["pending", "1", "cancelled"])
            inputs[0].resolve(0)
            #expect(outcome(other) == "0")
        }

        @Test("D3: all inputs are attached before any is cancelled, also when one is settled")
        func attachedBeforeCancelled() {
            let log = Log()
            let last = Deferred<Int>(canceller: { _ in log("last") })
            let other = last.map { $0 }
            let first = Deferred<Int>(canceller: { _ in
                log("first")
                // If the list had not observed `last`, and let it go before any canceller runs, that would go on.
                other.cancel()
            })
            let list = DeferredList([first, .resolved(1), last], cancelsRemaining: true)
            #expect(outcome(list.first().map { $0.index }) == "1")
            #expect(log.all == ["first", "last"])
        }

        @Test("D3: with results, cancelsRemaining has nothing to cancel")
        func resultsCancelsNothing() {
            let inputs = (0..<2).map { _ in Deferred<Int>() }
            let results = DeferredList(inputs, cancelsRemaining: true).results().map { $0.map(outcome) }
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
                    #expect(log.all == ["(index: 1, value: 1)"])
                    continue
                }
                whole.cancel()
                #expect(log.all == ["cancelled", "cancels 0", "cancels 2"])
                #expect(inputs.map(outcome) == ["cancelled", "1", "cancelled"])
            }
        }

        @Test("D4: a canceller that completes its input changes nothing for the cancelled list")
        func cancellerFiresInput() {
            let inputs = (0..<2).map { _ in Deferred<Int>(canceller: { $0.resolve(5) }) }
            let list = DeferredList(inputs).values()
            list.cancel()
            #expect(outcome(list) == "cancelled")
            #expect(inputs.map(outcome) == ["5", "5"])
        }

        @Test("D4: inputs that others consume continue")
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

        @Test("D4: one Deferred may be in a list twice, as one consumer")
        func duplicates() {
            let log = Log()
            let (one, two) = (
                Deferred<Int>(canceller: { _ in log("one") }), Deferred<Int>(canceller: { _ in log("two") })
            )
            let values = DeferredList([one, two, one]).values()
            let cancelled = DeferredList([one, two, one]).values()
            cancelled.cancel()
            #expect(log.all.isEmpty)
            one.resolve(1)
            two.resolve(2)
            #expect(outcome(values) == "[1, 2, 1]")

            let shared = Deferred<Int>(canceller: { _ in log("shared") })
            let list = DeferredList([shared, shared, shared]).values()
            list.cancel()
            #expect(log.all == ["shared"])
            #expect([outcome(list), outcome(shared)] == ["cancelled", "cancelled"])

            let failing = Deferred<Int>()
            let failed = DeferredList([failing, failing]).values()
            failing.reject(Boom(1))
            #expect(outcome(failed) == "Boom(1)")
        }

        @Test("D4: cancelling the list itself cancels each input as its own cancel does")
        func listCancel() {
            let inputs = (0..<2).map { _ in Deferred<Int>() }
            let other = inputs[0].map { $0 }
            let list = DeferredList(inputs)
            let results = list.results().map { $0.map(outcome) }
            list.cancel()
            #expect(inputs.map(outcome) == ["cancelled", "cancelled"])
            #expect(outcome(other) == "cancelled")
            #expect(outcome(results) == #"["cancelled", "cancelled"]"#)
        }

        @Test("D4: cancelling a position after a list cancels the list by C3")
        func cancelBelowList() {
            let input = Deferred<Int>()
            let values = DeferredList([input]).values()
            let (one, two) = (values.map { $0.count }, values.map { $0.count })
            one.cancel()
            #expect([outcome(one), outcome(values), outcome(input)] == ["cancelled", "pending", "pending"])
            two.cancel()
            #expect(
                [outcome(two), outcome(values), outcome(input)] == ["cancelled", "cancelled", "cancelled"])
        }

        @Test(
            "C5, D4: an input that is settled but paused is taken or cancelled for the list, and the list settles"
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

        @Test("T1: inputs that settle on many threads at once complete the list once, in input order")
        func race() {
            for _ in 0..<200 {
                let inputs = (0..<4).map { _ in Deferred<Int>() }
                let log = Log()
                DeferredList(inputs).values().done { log("\($0)") }
                let first = DeferredList(inputs).first()
                gather(inputs[0], inputs[3]).done { log("\($0 + $1)") }
                onThreads(4) { inputs[$0].resolve($0) }
                #expect(log.all.sorted() == ["3", "[0, 1, 2, 3]"])
                #expect(outcome(first.map { $0.index == $0.value }) == "true")
            }
        }

        @Test("T1: a list's cancel races with its inputs' completion: it settles once, one way or the other")
        func cancelRace() {
            for _ in 0..<200 {
                let inputs = (0..<2).map { _ in Deferred<Int>() }
                let list = DeferredList(inputs, cancelsRemaining: true).values()
                let log = Log()
                list.both { log(outcome($0)) }
                onThreads(3) { thread in
                    if thread == 2 { list.cancel() } else { _ = reports { inputs[thread].resolve(thread) } }
                }
                #expect(log.all.count == 1)
                #expect(["[0, 1]", "cancelled"].contains(log.all[0]))
            }
        }
    }
}
