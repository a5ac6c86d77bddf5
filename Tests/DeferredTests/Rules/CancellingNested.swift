import Deferred
import DeferredTesting
import Testing

extension Rules {
    @Suite("Rules C4, C5: cancelling a link that waits, is queued, or runs") struct CancellingNested {
        @Test("C4: cancelling a chain that waits for a nested Deferred cancels the nested one")
        func cancelsNested() {
            let log = Log()
            let source = Deferred<Int>(canceller: { _ in log("source's") })
            let inner = Deferred<Int>(canceller: { _ in log("inner's") })
            let outer = source.then { _ in inner }
            let last = outer.recover { error -> Int in
                log(name(of: error))
                throw error
            }
            source.resolve(1)
            last.cancel()
            #expect(log.all == ["inner's", "cancelled"])
            #expect(
                [outcome(inner), outcome(outer), outcome(last)] == Array(repeating: "cancelled", count: 3))
        }

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

        @Test("C4: a nested Deferred that others consume continues; the chain alone is cancelled")
        func nestedSharedGoesOn() {
            let inner = Deferred<Int>()
            let other = inner.map { $0 }
            let outer = Deferred.resolved(0).then { _ in inner }
            let last = outer.recover { _ in 5 }
            last.cancel()
            #expect([outcome(inner), outcome(outer), outcome(last)] == ["pending", "cancelled", "5"])
            inner.resolve(1)
            #expect(outcome(other) == "1")
            #expect(outcome(outer) == "cancelled")
        }

        @Test("C4: cancelled again, it cancels the Deferred that its errback has returned, too")
        func cancelsAgain() {
            let log = Log()
            let source = Deferred<Int>(canceller: { _ in log("source") })
            let second = Deferred<Int>(canceller: { _ in log("second") })
            let position = source.orElse { _ in second }
            let last = position.map { $0 }
            last.cancel()
            #expect([outcome(position), outcome(last)] == ["pending", "pending"])
            last.cancel()
            #expect(log.all == ["source", "second"])
            #expect(outcome(last) == "cancelled")
        }

        @Test("C5: cancelling what has fired does nothing")
        func fired() {
            let log = Log()
            let source = Deferred<Int>(canceller: { _ in log("canceller") })
            let position = source.map { $0 }
            let pending = Deferred<Int>(canceller: { _ in log("pending") })
            let last = position.then { _ in pending }
            source.resolve(1)
            source.cancel()
            position.cancel()
            #expect([outcome(source), outcome(position), outcome(last)] == ["1", "1", "pending"])
            #expect(log.all.isEmpty)
            Deferred<Int>.rejected(Boom(1)).fail { _ in }.cancel()
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
            let log = Log()
            let source = Deferred<Int>()
            let later = Box<[Deferred<Int>]>([])
            source.done { _ in
                for position in later.value { position.cancel() }
                log("cancelled them")
            }
            let own = source.mapResult { result -> Int in
                log("own \(outcome(result))")
                return try result.get()
            }
            let further = source.map { log("ran", returning: $0) }.recover { error -> Int in
                log("further \(name(of: error))")
                return 0
            }
            later.value = [own, further]
            source.done { log("other \($0)") }
            source.resolve(1)
            later.value = []
            #expect(log.all == ["cancelled them", "own cancelled", "other 1", "further cancelled"])
            #expect([outcome(own), outcome(further)] == ["cancelled", "0"])
        }

        @Test(
            "C5: a link whose callback is running lets it finish, and takes a value or an error from it",
            arguments: [true, false])
        func runningGivesOutcome(succeeds: Bool) {
            let own = Box<Deferred<Int>?>(nil)
            let source = Deferred<Int>()
            own.value = source.map { _ -> Int in
                own.value!.cancel()
                if !succeeds { throw Boom(1) }
                return 2
            }
            source.resolve(1)
            #expect(outcome(own.value!) == (succeeds ? "2" : "Boom(1)"))
        }

        @Test("C5: a pending Deferred that a callback returns after its cancel is cancelled at once")
        func runningOnAnotherThread() {
            for (isFurtherDown, isDispatched) in [(false, false), (true, false), (false, true), (true, true)]
            {
                let log = Log()
                let (inside, goOn) = (Gate(), Gate())
                let source = Deferred<Int>()
                let inner = Deferred<Int>(canceller: { _ in log("canceller") })
                let queue = ManualDispatcher()
                let position = source.then(on: isDispatched ? queue : nil) { _ -> Deferred<Int> in
                    inside.open()
                    goOn.pass()
                    return inner
                }
                let last = position.recover { error -> Int in
                    log(name(of: error))
                    throw error
                }
                let worker = Worker {
                    source.resolve(1)
                    queue.run()
                }
                inside.pass()
                (isFurtherDown ? last : position).cancel()
                goOn.open()
                worker.join()
                #expect(log.all == ["canceller", "cancelled"])
                #expect([outcome(position), outcome(last)] == ["cancelled", "cancelled"])
            }
        }
    }
}
