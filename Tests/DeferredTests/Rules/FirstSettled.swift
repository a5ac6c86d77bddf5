import Deferred
import DeferredTesting
import Testing

extension Rules {
    @Suite("Rules D1 to D5: the first of a list to settle") struct FirstSettled {
        @Test("D1: of an empty list it fails with .empty; of settled inputs it is the first in the list")
        func settledInputs() {
            #expect(outcome(DeferredList([Deferred<Int>]()).firstSettled().map { $0.index }) == "empty")
            #expect(
                outcome(DeferredList([Int](), limit: 1) { Deferred.resolved($0) }.firstSettled().map(\.index))
                    == "empty")
            let list = DeferredList(
                [Deferred<Int>(), .rejected(Boom(1)), .resolved(2)], consumesErrors: true)
            #expect(outcome(list.firstSettled().map { "\($0.index): \(outcome($0.result))" }) == "1: Boom(1)")
        }

        @Test("D2, U1: a failure that comes first is its value, and is handled; later ones are not")
        func failure() throws {
            let found = reports {
                let inputs = (0..<3).map { _ in Deferred<Int>() }
                let first = DeferredList(inputs).firstSettled()
                inputs[1].reject(Boom(1))
                #expect(outcome(first.map { "\($0.index): \(outcome($0.result))" }) == "1: Boom(1)")
                inputs[0].reject(Boom(0))
                inputs[2].resolve(2)
            }
            #expect(found.count == 1)
        }

        @Test("D3: with cancelsRemaining the others are cancelled after its callbacks, whatever came first")
        func cancelsRemaining() {
            for isFailure in [false, true] {
                let log = Log()
                let inputs = (0..<3).map { number in
                    Deferred<Int>(canceller: { _ in log("cancels \(number)") })
                }
                DeferredList(inputs, cancelsRemaining: true).firstSettled().done { log("\($0.index)") }
                if isFailure { inputs[1].reject(Boom(1)) } else { inputs[1].resolve(1) }
                #expect(log.all == ["1", "cancels 0", "cancels 2"])
                withExtendedLifetime(inputs) {}
            }
        }

        @Test("D4: a cancel fails it, and cancels the inputs that nothing else consumes")
        func cancel() {
            let inputs = (0..<2).map { _ in Deferred<Int>() }
            let other = inputs[0].map { $0 }
            let first = DeferredList(inputs).firstSettled()
            first.cancel()
            #expect(outcome(first.map { $0.index }) == "cancelled")
            #expect(inputs.map(outcome) == ["pending", "cancelled"])
            inputs[0].resolve(1)
            #expect(outcome(other) == "1")
        }

        @Test("D5: a list with a limit starts no further input once it is there, or once it is cancelled")
        func limited() {
            let log = Log()
            let first = DeferredList(0..., limit: 2) { number -> Deferred<Int> in
                log("starts \(number)")
                return number == 1 ? .rejected(Boom(1)) : .never()
            }.firstSettled()
            #expect(outcome(first.map { "\($0.index): \(outcome($0.result))" }) == "1: Boom(1)")
            #expect(log.all == ["starts 0", "starts 1"])

            let list = DeferredList(0..., limit: 2) { _ in Deferred<Int>.never() }
            let second = list.firstSettled().map { outcome($0.result) }
            list.cancel()
            // The cancel of an input is an outcome, too; or the list is cut off before one has arrived.
            #expect(["cancelled", "\"cancelled\""].contains(outcome(second)))
        }

        @Test("V3: inputs that are still pending are left when it is there")
        func leaves() {
            let inputs = (0..<2).map { _ in Deferred<Int>() }
            let first = DeferredList(inputs).firstSettled()
            inputs[1].resolve(1)
            inputs[0].map { $0 }.cancel()
            #expect(outcome(inputs[0]) == "cancelled", "the list consumes it no longer")
            #expect(outcome(first.map(\.index)) == "1")
        }
    }
}
