import Deferred
import Testing

extension Rules {
    @Suite("Rule C3: cancelling a later position") struct CancellingConsumers {
        @Test(
            "C3: cancelling a later position cancels the source that nobody else consumes; the error comes down the chain"
        )
        func cancelsUpToSource() {
            let log = Log()
            let source = Deferred<Int>(canceller: { _ in log("canceller") })
            let middle = source.map {
                log("callback"); return $0
            }
            .recover { error -> Int in
                log("errback \(name(of: error))")
                throw error
            }
            let last = middle.mapResult { result -> Int in
                log("both \(outcome(result))")
                return try result.get()
            }
            last.cancel()
            #expect(log.all == ["canceller", "errback cancelled", "both cancelled"])
            #expect(
                [outcome(source), outcome(middle), outcome(last)] == Array(repeating: "cancelled", count: 3))
        }

        @Test("C3: an errback on the way down may recover, and the cancelled position sees its value")
        func recoversOnTheWay() {
            let source = Deferred<Int>()
            let last = source.recover { _ in 3 }.map { $0 + 1 }
            last.cancel()
            #expect(outcome(last) == "4")
        }

        @Test(
            "C3: of two consumers one cancels and the other continues; when that cancels too, the source is cancelled"
        )
        func lastOneOut() {
            let log = Log()
            let source = Deferred<Int>(canceller: { _ in log("canceller") })
            let one = source.map {
                log("one"); return $0
            }
            let two = source.map {
                log("two"); return $0
            }
            one.fail { log("one: \(name(of: $0))") }
            two.fail { log("two: \(name(of: $0))") }
            one.cancel()
            #expect(log.all == ["one: cancelled"])
            #expect(outcome(one) == "cancelled")
            #expect([outcome(source), outcome(two)] == ["pending", "pending"])
            two.cancel()
            #expect(log.all == ["one: cancelled", "canceller", "two: cancelled"])
            #expect(outcome(source) == "cancelled")
        }

        @Test("C3: the remaining one gets the value; the cancelled one is not notified again")
        func otherGoesOn() {
            let log = Log()
            let source = Deferred<Int>()
            let one = source.both { log("one \(outcome($0))") }
            source.both { log("two \(outcome($0))") }
            one.cancel()
            source.resolve(1)
            #expect(log.all == ["one cancelled", "two 1"])
        }

        @Test(
            "C3: a cancelled consumer's callback does not run; its errback may handle the error and recover")
        func cancelledConsumerRecovers() {
            let log = Log()
            let source = Deferred<Int>()
            let other = source.map { $0 }
            let recovered = source.recover { error -> Int in
                log(name(of: error))
                return 9
            }
            let pair = source.map(
                {
                    log("callback"); return $0
                }, recover: { _ in 8 })
            recovered.cancel()
            pair.cancel()
            #expect([outcome(recovered), outcome(pair)] == ["9", "8"])
            #expect(log.all == ["cancelled"])
            source.resolve(1)
            #expect(outcome(other) == "1")
            #expect([outcome(recovered), outcome(pair)] == ["9", "8"])
        }

        @Test("C3: a consumer without a handle counts")
        func unheldConsumerCounts() {
            let log = Log()
            let source = Deferred<Int>(canceller: { _ in log("canceller") })
            source.done { log("unheld \($0)") }
            let held = source.map { $0 }
            held.cancel()
            #expect(outcome(held) == "cancelled")
            source.resolve(1)
            #expect(log.all == ["unheld 1"])
        }

        @Test("C3: a nested wait, a follower and a list observer count as consumers")
        func everyKindOfConsumerCounts() {
            let log = Log()
            let source = Deferred<Int>(canceller: { _ in log("canceller") })
            func cancelsNobodyElse() {
                let position = source.map { $0 }
                position.cancel()
                #expect(outcome(position) == "cancelled")
                #expect(outcome(source) == "pending")
            }
            let nested = Deferred.resolved(0).then { _ in source }
            cancelsNobodyElse()
            nested.cancel()
            #expect(log.all == ["canceller"])

            let source2 = Deferred<Int>(canceller: { _ in log("canceller 2") })
            let (follower, resolver) = Deferred<Int>.withResolver()
            resolver.follow(source2)
            let position = source2.map { $0 }
            position.cancel()
            #expect([outcome(position), outcome(source2)] == ["cancelled", "pending"])
            follower.cancel()
            #expect(log.all == ["canceller", "canceller 2"])
            #expect([outcome(follower), outcome(source2)] == ["cancelled", "cancelled"])

            let source3 = Deferred<Int>(canceller: { _ in log("canceller 3") })
            let list = DeferredList([source3]).values()
            let position3 = source3.map { $0 }
            position3.cancel()
            #expect([outcome(position3), outcome(source3)] == ["cancelled", "pending"])
            list.cancel()
            #expect(log.all == ["canceller", "canceller 2", "canceller 3"])
            keep(resolver)
        }

        @Test("C3: a finalizer is no consumer")
        func finalizerIsNoConsumer() {
            let source = Deferred<Int>()
            source.finally { _ in }
            let position = source.map { $0 }
            position.cancel()
            #expect(outcome(source) == "cancelled")
        }

        @Test("C3: a consumer that has been cancelled and settled protects no more")
        func settledConsumerDoesNotCount() {
            let source = Deferred<Int>()
            let positions = (0..<100).map { index in source.map { $0 + index } }
            for position in positions.dropLast() {
                position.cancel()
                #expect(outcome(source) == "pending")
            }
            positions.last!.cancel()
            #expect(outcome(source) == "cancelled")
        }

        @Test("C3: whatever the order in which they leave, the last one out cancels the source")
        func lastOneOutInAnyOrder() {
            for first in 0..<4 {
                let source = Deferred<Int>()
                let positions = (0..<4).map { _ in source.map { $0 } }
                for offset in 0..<4 {
                    #expect(outcome(source) == "pending")
                    positions[(first + offset * 3) % 4].cancel()
                }
                #expect(outcome(source) == "cancelled")
            }
        }

        @Test("C3: a position's own consumers don't protect it, and see the error")
        func ownConsumersDoNotProtect() {
            let log = Log()
            let source = Deferred<Int>(canceller: { _ in log("canceller") })
            let position = source.map { $0 }
            position.fail { log("one \(name(of: $0))") }
            position.fail { log("two \(name(of: $0))") }
            position.cancel()
            #expect(log.all == ["canceller", "one cancelled", "two cancelled"])
            let source2 = Deferred<Int>(canceller: { _ in log("canceller 2") })
            let consumer = source2.map { $0 }
            source2.cancel()
            #expect(outcome(consumer) == "cancelled")
            #expect(log.all.last == "canceller 2")
        }

        @Test("C3: a cancel stops where somebody else consumes, and those between see the error")
        func stopsAtTheFork() {
            let log = Log()
            let source = Deferred<Int>()
            let fork = source.map { $0 }
            let other = fork.map { $0 }
            let left = fork.recover { error -> Int in
                log("left \(name(of: error))")
                throw error
            }
            let last = left.map { $0 }
            last.cancel()
            #expect(log.all == ["left cancelled"])
            #expect([outcome(last), outcome(left), outcome(fork)] == ["cancelled", "cancelled", "pending"])
            other.cancel()
            #expect([outcome(fork), outcome(source)] == ["cancelled", "cancelled"])
        }

        @Test(
            "C3: cancelling a follower cancels what it follows if nothing else consumes that, whatever could complete it"
        )
        func cancelsFollowed() {
            let log = Log()
            let source = Deferred<Int>(canceller: { _ in log("canceller") })
            let own = Deferred<Int>()
            own.follow(source)
            let last = own.map { $0 }
            last.cancel()
            #expect(log.all == ["canceller"])
            #expect(
                [outcome(last), outcome(own), outcome(source)] == Array(repeating: "cancelled", count: 3))

            let shared = Deferred<Int>(canceller: { _ in log("shared") })
            let follower = Deferred<Int>()
            follower.follow(shared)
            let other = shared.map { $0 }
            follower.cancel()
            #expect(
                [outcome(follower), outcome(shared), outcome(other)] == ["cancelled", "pending", "pending"])
            #expect(log.all == ["canceller"])
        }

        @Test("C3: cancelling a follower of two cancels both")
        func cancelsAllFollowed() {
            let log = Log()
            let one = Deferred<Int>(canceller: { _ in log("one") })
            let two = Deferred<Int>(canceller: { _ in log("two") })
            let target = Deferred<Int>()
            target.follow(one)
            target.follow(two)
            target.cancel()
            #expect(log.all.sorted() == ["one", "two"])
            #expect(outcome(target) == "cancelled")
        }

        @Test("C3: a cancel through a dispatched and a paused position reaches the source")
        func throughOthers() {
            let queue = StoringDispatcher()
            let source = Deferred<Int>()
            let dispatched = source.map(on: queue) { $0 }
            let paused = dispatched.map { $0 }
            paused.pause()
            let last = paused.map { $0 }
            last.cancel()
            #expect(outcome(source) == "cancelled")
            queue.runAll()
            #expect(
                [outcome(dispatched), outcome(paused), outcome(last)] == [
                    "cancelled", "cancelled", "pending",
                ])
            paused.unpause()
            #expect(outcome(last) == "cancelled")
        }

        @Test("C3: two consumers that leave at once on two threads cancel the source, and once")
        func leavesAtOnce() {
            for _ in 0..<300 {
                let log = Log()
                let source = Deferred<Int>(canceller: { _ in log("canceller") })
                let positions = (0..<2).map { _ in source.map { $0 } }
                onThreads(2) { positions[$0].cancel() }
                #expect(log.all == ["canceller"])
                #expect(positions.map(outcome) == ["cancelled", "cancelled"])
            }
        }
    }
}
