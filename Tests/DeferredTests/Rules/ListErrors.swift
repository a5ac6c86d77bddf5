import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    @Suite("Rules: which input failed")
    struct ListErrors {
        @Test("D2: with wrapErrors, errors have the index of their input; values and cancels are unchanged")
        func wrapped() async throws {
            let list = DeferredList(
                [Deferred.resolved(1), .rejected(Boom(7)), .rejected(CancellationError())], wrapErrors: true)
            let error = try failureResult(of: list.values(), as: DeferredInputFailure.self)
            #expect(error.index == 1 && error.error as? Boom == Boom(7))
            #expect("\(error)".hasPrefix("input 1: Boom"))
            let results = try successResult(of: list.results())
            #expect(outcome(results[0]) == "1" && outcome(results[2]) == "cancelled")
            for await (index, result) in list.completed where index == 1 {
                #expect(throws: DeferredInputFailure.self) { try result.get() }
            }
        }

        @Test("D5: with wrapErrors, a list with a limit has the index of the input that failed")
        func wrappedWithLimit() throws {
            let list = DeferredList(0..<9, limit: 2, wrapErrors: true) { number in
                number == 4 ? .rejected(Boom(number)) : Deferred.resolved(number)
            }
            #expect(try failureResult(of: list.values(), as: DeferredInputFailure.self).index == 4)
        }

        @Test("D4: cancelling a list with wrapErrors cancels its inputs by C3")
        func cancelled() throws {
            let inputs = [Deferred<Int>(), Deferred<Int>()]
            let consumer = inputs[1].map { $0 }
            DeferredList(inputs, wrapErrors: true).values().cancel()
            #expect(inputs[0].hasFired && !inputs[1].hasFired)
            consumer.cancel()
        }

        @Test("N10: two results that are asked for inside a limited list's body are joined in order")
        func joinedInOrder() throws {
            let log = SharedLog<String>()
            let holder = SpinLocked<DeferredList<Int>?>(nil)
            let gate = Deferred<Int>()
            let list = DeferredList(0..<1, limit: 1) { _ in
                if let list = holder.withLock({ $0.take() }) {
                    list.results().done { _ in log.add("first") }
                    list.results().done { _ in log.add("second") }
                }
                return gate.map { $0 }
            }
            holder.withLock { $0 = list }
            list.results().done { _ in log.add("outer") }
            gate.resolve(1)
            #expect(log.all == ["outer", "first", "second"])
        }
    }
}
