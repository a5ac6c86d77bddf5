import Deferred
import DeferredTesting
import Testing

extension Rules {
    @Suite("Rules C4, C5: cancelling a link that waits, is queued, or runs") struct CancellingNested {
        @Test("C4: through any depth of nesting the innermost is cancelled", arguments: [1, 2, 3, 50])
        func cancelsThroughDepth(depth: Int) {
            for isHeld in [true, false] {
                let log = Log()
                let innermost = Deferred<Int>(canceller: { _ in log("innermost") })
                let sources = (0..<depth).map { _ in Deferred<Int>() }
                var outer = innermost
                var held: [Deferred<Int>] = []
                for source in sources {
                    let inner = outer
                    outer = source.then { _ in inner }
                    if isHeld { held.append(outer) }
                }
                // The outermost begins to wait first.
                for source in sources.reversed() { source.resolve(0) }
                outer.cancel()
                #expect(log.all == ["innermost"])
                #expect(([outer, innermost] + held).allSatisfy { outcome($0) == "cancelled" })
            }
        }

        @Test("C5: a link delayed by a dispatcher receives CancellationError in place of the outcome")
        func heldByDispatcher() {
            let log = Log()
            let queue = ManualDispatcher()
            let source = Deferred<Int>()
            let callback = source.map(on: queue) { log("ran", returning: $0) }
            let errback = source.recover(on: queue) { error -> Int in
                log(name(of: error))
                return 3
            }
            let below = source.both(on: queue) { log(outcome($0)) }
            let last = below.done { $0 }
            source.resolve(1)
            callback.cancel()
            errback.cancel()
            // By C3 this cancels what it waits for, which has not been dequeued.
            last.cancel()
            queue.run()
            #expect(log.all == ["cancelled", "cancelled"])
            #expect([outcome(callback), outcome(errback)] == ["cancelled", "3"])
            #expect(outcome(source) == "1")
        }

        @Test("C5: a link delayed by an earlier callback receives CancellationError in place of the outcome")
        func heldByEarlierCallback() {
            let (log, later) = (Log(), Box<[Deferred<Int>]>([]))
            let source = Deferred<Int>()
            source.done { _ in
                for position in later.value { position.cancel() }
                log("cancelled them")
            }
            let own = source.recover { log("own \(name(of: $0))", returning: 0) }
            let further = source.map { log("ran", returning: $0) }
            later.value = [own, further.recover { log("further \(name(of: $0))", returning: 0) }]
            source.done { log("other \($0)") }
            source.resolve(1)
            later.value = []
            #expect(log.all == ["cancelled them", "own cancelled", "other 1", "further cancelled"])
            #expect([outcome(own), outcome(further)] == ["0", "cancelled"])
        }

        @Test(
            "C5: a pending Deferred that a callback returns after its cancel is cancelled at once",
            arguments: [true, false], [nil, InlineDispatcher()])
        func runningReturnsPending(isFurtherDown: Bool, dispatcher: InlineDispatcher?) {
            let (log, cancelled) = (Log(), Box<Deferred<Int>?>(nil))
            let source = Deferred<Int>()
            let inner = Deferred<Int>(canceller: { _ in log("canceller") })
            let position = source.then(on: dispatcher) { _ -> Deferred<Int> in
                cancelled.value!.cancel()
                return inner
            }
            let last = position.mapResult { try log(outcome($0), returning: $0).get() }
            cancelled.value = isFurtherDown ? last : position
            source.resolve(1)
            cancelled.value = nil
            #expect(log.all == ["canceller", "cancelled"])
            #expect([outcome(position), outcome(last)] == ["cancelled", "cancelled"])
        }
    }
}
