import Deferred
import Testing

extension Rules {
    @Suite("Rule C3: shielded positions and list observers") struct Shielding {
        @Test("C3: a shielded position passes the outcome on")
        func passesOn() {
            let source = Deferred<Int>()
            let shielded = source.shielded()
            source.resolve(1)
            #expect(outcome(shielded) == "1")
            #expect(outcome(Deferred<Int>.rejected(Boom(1)).shielded()) == "Boom(1)")
        }

        @Test(
            "C3: cancelling a shielded position, or one after it, fails it at once and never reaches upstream"
        )
        func cancelStaysBelow() {
            for isLater in [false, true] {
                let log = Log()
                let source = Deferred<Int>(canceller: { _ in log("canceller") })
                let shielded = source.shielded()
                let later = shielded.map { $0 }
                if isLater { later.cancel() } else { shielded.cancel() }
                #expect([outcome(shielded), outcome(later)] == ["cancelled", "cancelled"])
                #expect(outcome(source) == "pending")
                source.resolve(1)
                #expect(log.all.isEmpty)
                #expect(outcome(shielded) == "cancelled")
            }
        }

        @Test(
            "C3: a shielded position remains a consumer until its upstream is settled, though it was cancelled itself"
        )
        func goesOnConsuming() {
            let log = Log()
            let source = Deferred<Int>(canceller: { _ in log("canceller") })
            let upstream = source.map { $0 }
            let shielded = upstream.shielded()
            let other = upstream.map { $0 }
            shielded.cancel()
            other.cancel()
            #expect([outcome(shielded), outcome(other)] == ["cancelled", "cancelled"])
            #expect([outcome(upstream), outcome(source)] == ["pending", "pending"])
            #expect(log.all.isEmpty)
            source.resolve(1)
            #expect(outcome(upstream) == "1")
        }

        @Test("C3: a shielded position whose handle was released remains a consumer")
        func unheldConsumes() {
            let source = Deferred<Int>()
            _ = source.shielded()
            let other = source.map { $0 }
            other.cancel()
            #expect([outcome(other), outcome(source)] == ["cancelled", "pending"])
        }

        @Test("C3: a shielded position does not prevent a cancel of the source itself")
        func sourceCancelled() {
            let source = Deferred<Int>()
            let shielded = source.shielded()
            source.cancel()
            #expect(outcome(shielded) == "cancelled")
        }

        @Test("C3: of two consumers of a shielded position the first to cancel leaves alone")
        func consumersOfShielded() {
            let source = Deferred<Int>()
            let shielded = source.shielded()
            let (one, two) = (shielded.map { $0 }, shielded.map { $0 })
            one.cancel()
            #expect([outcome(one), outcome(shielded), outcome(two)] == ["cancelled", "pending", "pending"])
            two.cancel()
            #expect(
                [outcome(shielded), outcome(two), outcome(source)] == ["cancelled", "cancelled", "pending"])
        }

        @Test("C3: a shielded nested Deferred continues when the chain that waits for it is cancelled")
        func shieldedNested() {
            let inner = Deferred<Int>()
            let outer = Deferred.resolved(0).then { _ in inner.shielded() }
            outer.cancel()
            #expect([outcome(outer), outcome(inner)] == ["cancelled", "pending"])
        }

        @Test("C3: a list observer remains a consumer of its input after the list is settled")
        func watchAfterListFired() {
            let (input, other) = (Deferred<Int>(), Deferred<Int>())
            let list = DeferredList([input, other]).first()
            other.resolve(1)
            #expect(outcome(list.map { "\($0.index) \($0.value)" }) == "1 1")
            let position = input.map { $0 }
            position.cancel()
            #expect([outcome(position), outcome(input)] == ["cancelled", "pending"])
            // Cancelling a settled Deferred does nothing (C5).
            list.cancel()
            #expect(outcome(input) == "pending")
        }

        @Test("C3: a list observer is no consumer any more when its input was cancelled by the list")
        func watchAfterCancel() {
            let input = Deferred<Int>()
            let list = DeferredList([input]).values()
            let position = input.map { $0 }
            list.cancel()
            #expect([outcome(list), outcome(input)] == ["cancelled", "pending"])
            position.cancel()
            #expect(outcome(input) == "cancelled")
        }

        @Test("T1: cancelling a shield while the link above it begins to wait for another")
        func cancelRacesBypass() {
            for _ in 0..<2000 {
                let (source, inner) = (Deferred<Int>(), Deferred<Int>())
                let shielded = source.then { _ in inner }.shielded()
                let log = Log()
                shielded.both { log(outcome($0)) }
                onThreads(2) { thread in
                    if thread == 0 { source.resolve(1) } else { shielded.cancel() }
                }
                inner.resolve(2)
                #expect(log.all == ["cancelled"])
            }
        }
    }
}
