import Deferred
import DeferredTesting
import Testing

extension Rules {
    @Suite("Rules D1 to D4: lists") struct Lists {
        @Test("D1: without inputs results and values are [], first fails with .empty, gather() is ()")
        func empty() {
            let none: [Deferred<Int>] = []
            for list in [
                DeferredList(none), DeferredList(none, consumesErrors: true, cancelsRemaining: true),
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

        @Test(
            "D3: errors before the list is settled belong to it; later ones to U1, unless consumesErrors",
            arguments: [false, true])
        func lateErrors(consumes: Bool) {
            let attached: [([Deferred<Int>]) -> Void] = [
                { DeferredList($0, consumesErrors: consumes).first().done { _ in } },
                { DeferredList($0, consumesErrors: consumes).values().fail { _ in } },
                { gather($0[0], $0[2], consumesErrors: consumes).fail { _ in } },
            ]
            for attach in attached {
                for isHandled in [false, true] {
                    let found = reports {
                        let inputs = (0..<3).map { _ in Deferred<Int>() }
                        attach(inputs)
                        if isHandled { inputs[2].fail { _ in } }
                        inputs[0].reject(Boom(0))
                        inputs[1].resolve(1)
                        inputs[2].reject(Boom(2))
                    }
                    #expect(found.count == (consumes || isHandled ? 0 : 1))
                }
            }
        }

        @Test(
            "D3: cancelsRemaining cancels the inputs still pending, in order, after the list's callbacks",
            arguments: 0..<4)
        func cancelsRemaining(kind: Int) {
            let log = Log()
            let inputs = Inputs(4, log).all
            let list = DeferredList(inputs, cancelsRemaining: kind != 3)
            switch kind {
            case 0: list.first().both { _ in log("settled") }
            case 1, 3: list.values().both { _ in log("settled") }
            default:
                gather(inputs[0], inputs[1], inputs[2], inputs[3], cancelsRemaining: true)
                    .both { _ in log("settled") }
            }
            if kind == 0 { inputs[2].resolve(2) } else { inputs[2].reject(Boom(2)) }
            #expect(log.all == ["settled"] + (kind == 3 ? [] : ["cancels 0", "cancels 1", "cancels 3"]))
            let others = [0, 1, 3].map { outcome(inputs[$0]) }
            #expect(others == Array(repeating: kind == 3 ? "pending" : "cancelled", count: 3))
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

        @Test("D2: with wrapsErrors, errors have the index of their input; values and cancels are unchanged")
        func wrapped() async throws {
            let inputs = [Deferred.resolved(1), .rejected(Boom(7)), .rejected(CancellationError())]
            let limited = DeferredList(inputs, limit: 2, wrapsErrors: true) { $0 }
            for list in [DeferredList(inputs, wrapsErrors: true), limited] {
                let error = try failureResult(of: list.values(), as: DeferredInputFailure.self)
                #expect(error.index == 1 && error.error as? Boom == Boom(7))
                #expect("\(error)".hasPrefix("input 1: Boom"))
            }
            let list = DeferredList(inputs, wrapsErrors: true)
            let results = try successResult(of: list.results())
            #expect(outcome(results[0]) == "1" && outcome(results[2]) == "cancelled")
            for await (index, result) in list.completed where index == 1 {
                #expect(throws: DeferredInputFailure.self) { try result.get() }
            }
        }

        @Test("D4: two results that are asked for inside a limited list's body are joined in order")
        func joinedInOrder() throws {
            let log = Log()
            let holder = SpinLocked<DeferredList<Int>?>(nil)
            let gate = Deferred<Int>()
            let list = DeferredList(0..<1, limit: 1) { _ in
                if let list = holder.withLock({ $0.take() }) {
                    list.results().done { _ in log("first") }
                    list.results().done { _ in log("second") }
                }
                return gate.map { $0 }
            }
            holder.withLock { $0 = list }
            list.results().done { _ in log("outer") }
            gate.resolve(1)
            #expect(log.all == ["outer", "first", "second"])
        }
    }
}
