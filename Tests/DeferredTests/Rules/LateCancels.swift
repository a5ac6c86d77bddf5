import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    /// Cancels that cannot take effect where they begin. `Tests/Interleaving` searches their schedules.
    @Suite("Rules C5, C7: cancels of several, and late ones") struct LateCancels {
        @Test(
            "C7: a cancel of a source reaches all that it follows, also what others consume",
            arguments: [0, 1, 2])
        func followsSeveral(shared: Int) {
            let log = Log()
            let followed = (0..<3).map { index in Deferred<Int>(canceller: { _ in log("cancels \(index)") }) }
            // In optimised code they would be released, and so abandoned, after their last use.
            defer { withExtendedLifetime(followed) {} }
            let other = followed[shared].map { $0 }
            let source = Deferred<Int>()
            for deferred in followed { source.follow(deferred) }
            let last = source.map { $0 }
            last.cancel()
            #expect(log.all.sorted() == (0..<3).filter { $0 != shared }.map { "cancels \($0)" })
            #expect(
                [outcome(source), outcome(last), outcome(other)] == ["cancelled", "cancelled", "pending"])
        }

        @Test("C5: what a dispatcher releases within dispatch(_:) may cancel the link of that work")
        func cancelledByReleasedWork() {
            let link = Slot<Deferred<Int>>(nil)
            let source = Deferred<Int>()
            link.put(
                source.map(on: DroppingDispatcher()) { [held = AtEnd { link.now?.cancel() }] value in
                    withExtendedLifetime(held) { value }
                })
            let last = link.now!.map { $0 }
            source.resolve(1)
            #expect(outcome(last) == "cancelled")
            link.drop()
        }

        @Test(
            "L5: a list with a limit of which a later input waits for the list fails with .cycle",
            arguments: [false, true])
        func listWaitsForItself(isFirst: Bool) {
            let own = Box<Deferred<Int>?>(nil)
            let start = Deferred<Int>()
            let list = DeferredList([0, 1], limit: 1) { $0 == 0 ? start : own.value! }
            own.value = isFirst ? list.first().map { $0.value } : list.results().map { $0.count }
            start.reject(Boom(0))
            #expect(outcome(own.value!) == "cycle")
        }
    }
}
