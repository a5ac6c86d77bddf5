import Deferred
import Testing

extension Rules {
    @Suite("Rule C3: shielded positions and list observers") struct Shielding {
        @Test("C3: cancelling a shielded position, or one after it, fails it at once, and nothing upstream")
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

        @Test("C3: a shielded position that was cancelled remains a consumer until upstream is settled")
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
    }
}
