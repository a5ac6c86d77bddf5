import Deferred
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

        @Test("C4: a cancel reaches the step at which an asynchronous recursion waits")
        func cancelsRecursion() {
            let log = Log()
            let steps = (0..<20).map { index in Deferred<Int>(canceller: { _ in log("step \(index)") }) }
            @Sendable func loop(_ index: Int) -> Deferred<Int> {
                steps[index].then { _ in loop(index + 1) }
            }
            let whole = loop(0)
            for index in 0..<10 { steps[index].resolve(0) }
            whole.cancel()
            #expect(log.all == ["step 10"])
            #expect(outcome(whole) == "cancelled")
        }

        @Test(
            "C4: a nested Deferred that others consume continues, and the chain alone sees CancellationError")
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

        @Test(
            "C4: one Deferred returned by two callbacks, one of which is cancelled, continues for the other")
        func givenTwice() {
            let inner = Deferred<Int>()
            let (one, two) = (
                Deferred.resolved(0).then { _ in inner }, Deferred.resolved(0).then { _ in inner }
            )
            one.cancel()
            #expect([outcome(one), outcome(two), outcome(inner)] == ["cancelled", "pending", "pending"])
            two.cancel()
            #expect([outcome(two), outcome(inner)] == ["cancelled", "cancelled"])
        }

        @Test("C4: the outcome from the nested one's canceller is the chain's")
        func nestedCancellerFires() {
            let inner = Deferred<Int>(canceller: { $0.resolve(6) })
            let outer = Deferred.resolved(0).then { _ in inner }
            outer.cancel()
            #expect([outcome(outer), outcome(inner)] == ["6", "6"])
        }

        @Test(
            "C4: cancelled again, after its errback returned another Deferred to wait for, it cancels that one too"
        )
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

        @Test("C4: the same where it left a source that others consume")
        func cancelsAgainAfterLeaving() {
            let log = Log()
            let source = Deferred<Int>()
            let other = source.map { $0 }
            let second = Deferred<Int>(canceller: { _ in log("second") })
            let third = Deferred<Int>(canceller: { _ in log("third") })
            let nested = second.orElse { _ in third }
            let position = source.orElse { _ in nested }
            position.cancel()
            #expect([outcome(position), outcome(source)] == ["pending", "pending"])
            position.cancel()
            #expect(log.all == ["second"])
            position.cancel()
            #expect(log.all == ["second", "third"])
            #expect(outcome(position) == "cancelled")
            source.resolve(1)
            #expect(outcome(other) == "1")
        }

        @Test("C4: the same where it follows another")
        func followerCancelledAgain() {
            let log = Log()
            let source = Deferred<Int>(canceller: { _ in log("source") })
            let second = Deferred<Int>(canceller: { _ in log("second") })
            let follower = Deferred<Int>()
            follower.follow(source.orElse { _ in second })
            follower.cancel()
            #expect(outcome(follower) == "pending")
            follower.cancel()
            #expect(log.all == ["source", "second"])
            #expect(outcome(follower) == "cancelled")
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

        @Test("C5: a link delayed by a dispatcher receives CancellationError instead of the outcome")
        func heldByDispatcher() {
            let log = Log()
            let queue = StoringDispatcher()
            let source = Deferred<Int>()
            let callback = source.map(on: queue) {
                log("ran"); return $0
            }
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
            queue.runAll()
            #expect(log.all == ["cancelled", "cancelled"])
            #expect([outcome(callback), outcome(errback)] == ["cancelled", "3"])
            #expect(outcome(source) == "1")
        }

        @Test(
            "C5: a link delayed by a pause receives CancellationError instead of the outcome, when it is dequeued or at once"
        )
        func heldByPause() {
            let log = Log()
            let source = Deferred<Int>()
            source.pause()
            let callback = source.map {
                log("ran"); return $0
            }
            let errback = source.recover { error -> Int in
                log(name(of: error))
                return 3
            }
            source.done { log("other \($0)") }
            source.resolve(1)
            callback.cancel()
            errback.cancel()
            source.unpause()
            #expect(log.all.sorted() == ["cancelled", "other 1"])
            #expect([outcome(callback), outcome(errback)] == ["cancelled", "3"])
        }

        @Test("C5: a link delayed by an earlier callback receives CancellationError instead of the outcome")
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
            let further = source.map {
                log("ran"); return $0
            }.recover { error -> Int in
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

        @Test("C5: the same when another thread runs the earlier callback")
        func heldByAnotherThread() {
            let log = Log()
            let (inside, goOn) = (Gate(), Gate())
            let source = Deferred<Int>()
            source.done { _ in
                inside.open()
                goOn.pass()
            }
            let position = source.map {
                log("ran"); return $0
            }
            let worker = Worker { source.resolve(1) }
            inside.pass()
            position.cancel()
            goOn.open()
            worker.join()
            #expect(outcome(position) == "cancelled")
            #expect(log.all.isEmpty)
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
            own.value = nil
        }

        @Test("C5: a pending Deferred that a cancelled callback returns is cancelled at once")
        func runningGivesPending() {
            let log = Log()
            let own = Box<Deferred<Int>?>(nil)
            let source = Deferred<Int>()
            let inner = Deferred<Int>(canceller: { _ in log("canceller") })
            own.value = source.then { _ -> Deferred<Int> in
                own.value!.cancel()
                return inner
            }
            source.resolve(1)
            #expect(log.all == ["canceller"])
            #expect(outcome(own.value!) == "cancelled")
            own.value = nil
        }

        @Test(
            "C5: the same when another thread cancels while the callback runs, straight or from further down")
        func runningOnAnotherThread() {
            for (isFurtherDown, isDispatched) in [(false, false), (true, false), (false, true), (true, true)]
            {
                let log = Log()
                let (inside, goOn) = (Gate(), Gate())
                let source = Deferred<Int>()
                let inner = Deferred<Int>(canceller: { _ in log("canceller") })
                let queue = StoringDispatcher()
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
                    queue.runAll()
                }
                inside.pass()
                (isFurtherDown ? last : position).cancel()
                goOn.open()
                worker.join()
                #expect(log.all == ["canceller", "cancelled"])
                #expect([outcome(position), outcome(last)] == ["cancelled", "cancelled"])
            }
        }

        @Test(
            "C5: a nested Deferred that others consume too continues when a running callback that was cancelled returns it"
        )
        func runningGivesShared() {
            let shared = Deferred<Int>()
            let other = shared.map { $0 }
            let own = Box<Deferred<Int>?>(nil)
            let source = Deferred<Int>()
            own.value = source.then { _ -> Deferred<Int> in
                own.value!.cancel()
                return shared
            }
            source.resolve(1)
            #expect([outcome(own.value!), outcome(shared)] == ["cancelled", "pending"])
            shared.resolve(2)
            #expect(outcome(other) == "2")
            own.value = nil
        }

        @Test(
            "C5: cancelled while the callback before it runs, a position does not run with that one's value")
        func cancelledBehindRunning() {
            let log = Log()
            let last = Box<Deferred<Int>?>(nil)
            let source = Deferred<Int>()
            let middle = source.map { value -> Int in
                last.value!.cancel()
                return value + 1
            }
            last.value = middle.map {
                log("ran"); return $0
            }
            source.resolve(1)
            #expect([outcome(middle), outcome(last.value!)] == ["2", "cancelled"])
            #expect(log.all.isEmpty)
            last.value = nil
        }

        @Test("C5: a cancel that loses the race with the firing takes effect where the chain then stands")
        func losesTheRace() {
            for _ in 0..<2000 {
                let log = Log()
                let ran = Box(false)
                let source = Deferred<Int>()
                let inner = Deferred<Int>(canceller: { _ in log("inner") })
                let last = source.then { _ -> Deferred<Int> in
                    ran.value = true
                    return inner
                }.map { $0 }
                onThreads(2) { thread in
                    if thread == 0 { _ = reports { source.resolve(1) } } else { last.cancel() }
                }
                // Either may happen first: if the callback ran, the cancel has stopped the Deferred that it
                // returned.
                #expect(outcome(last) == "cancelled")
                #expect(log.all == (ran.value ? ["inner"] : []))
                #expect(outcome(inner) == (ran.value ? "cancelled" : "pending"))
            }
        }

        @Test("C5: the same with a canceller, during which the firing may come too")
        func losesTheRaceWithCanceller() {
            for _ in 0..<2000 {
                let log = Log()
                let ran = Box(false)
                let source = Deferred<Int>(canceller: { _ in log("source") })
                let inner = Deferred<Int>(canceller: { _ in log("inner") })
                let last = source.then { _ -> Deferred<Int> in
                    ran.value = true
                    return inner
                }.map { $0 }
                onThreads(2) { thread in
                    if thread == 0 { _ = reports { source.resolve(1) } } else { last.cancel() }
                }
                #expect(outcome(last) == "cancelled")
                #expect(log.all.count { $0 == "source" } <= 1)
                #expect(log.all.filter { $0 != "source" } == (ran.value ? ["inner"] : []))
                #expect(outcome(source) == "1" || log.all == ["source"])
            }
        }

        @Test("C5: two that cancel one chain at once, from different positions, lose neither cancel")
        func cancelsMeet() {
            for _ in 0..<500 {
                let log = Log()
                let source = Deferred<Int>()
                let other = source.map { $0 }
                let second = Deferred<Int>(canceller: { _ in log("second") })
                let middle = source.orElse { _ in second }
                let last = middle.map { $0 }
                onThreads(2) { thread in (thread == 0 ? middle : last).cancel() }
                // Either the first cancel makes the chain wait for `second`, or both came before; then one
                // more is needed.
                if log.all.isEmpty { middle.cancel() }
                #expect(log.all == ["second"])
                #expect(outcome(last) == "cancelled")
                source.resolve(1)
                #expect(outcome(other) == "1")
            }
        }
    }
}
