import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    @Suite("Rule F4: dispatchers that are released with work in them") struct DispatcherLifetimes {
        /// A user's own dispatcher, which retains its work.
        private final class OwnDispatcher: Dispatcher {
            let work = SharedLog<@Sendable () -> Void>()
            func dispatch(_ work: @escaping @Sendable () -> Void) { self.work.add(work) }
        }

        @Test(
            "F4, Z1: a dispatcher released with work ends its links with .abandoned and runs its finalizers",
            arguments: [.success(1), .failure(Boom())] as [Result<Int, any Error>])
        func kinds(input: Result<Int, any Error>) {
            var queue: OwnDispatcher? = OwnDispatcher()
            weak var known: OwnDispatcher?
            known = queue
            let (source, finalized) = (Deferred<Int>(), Deferred<Int>())
            let links = OperatorForm.on(queue).map {
                $0.attach(to: source, OperatorForm.Body { _ in .resolved(1) })
            }
            let log = Log()
            finalized.finally(on: queue) { _ in log("added first") }
            finalized.finally(on: queue) { log("finalizer \(outcome($0))") }.both { _ in }
            for completed in [source, finalized] { completed.complete(with: input) }
            #expect(queue!.work.all.count == links.count + 1)
            #expect(log.all.isEmpty)
            queue = nil
            #expect(known == nil)
            #expect(links.map(outcome) == Array(repeating: "abandoned", count: links.count))
            #expect(log.all == ["finalizer \(outcome(input))", "added first"])
        }

        @Test("F4: the library's own dispatchers, released with the first of several steps, end the chain")
        func libraries() {
            let tracker = LeakTracker()
            var (queue, clock): (ManualDispatcher?, ManualClock?) = (ManualDispatcher(), ManualClock())
            weak var (knownQueue, knownClock): (ManualDispatcher?, ManualClock?)
            (knownQueue, knownClock) = (queue, clock)
            let chain = Deferred.resolved(1)
                .map(on: queue!) { [life = tracker.begin()] value in life.returning(value) }
                .map(on: queue!) { $0 + 1 }
                .finally(on: queue!) { [life = tracker.begin()] _ in life.use() }
            let late = Deferred.after(.seconds(1), timer: clock!, value: 1).map(on: clock!) { $0 }
            let limited = Deferred.resolved(1).map(on: clock!) { $0 }.timeout(.seconds(1), timer: clock!)
            #expect(queue!.count == 1)
            (queue, clock) = (nil, nil)
            #expect(knownQueue == nil && knownClock == nil)
            #expect([chain, late, limited].map(outcome) == Array(repeating: "abandoned", count: 3))
            #expect(tracker.alive == 0)
        }

        @Test("F4: a link whose work is submitted is described with its dispatcher, which it does not retain")
        func described() {
            let (own, manual) = (OwnDispatcher(), ManualDispatcher())
            let link = Deferred.resolved(1).map(on: own) { $0 }
            #expect("\(link)".contains("OwnDispatcher"))
            #expect("\(Deferred.resolved(1).map(on: manual) { $0 })".contains("ManualDispatcher"))
            own.work.removeFirst()?()
            #expect(outcome(link) == "1")
            manual.run()
        }

        @Test("U1: an abandonment that nothing waited for is not reported, wherever the work was released")
        func notReported() {
            let found = reports {
                let manual = ManualDispatcher()
                let source = Deferred<Int>()
                source.done(on: manual) { _ in }
                _ = source.map(on: manual) { $0 }
                source.resolve(1)
                manual.dropAll()
                Deferred.resolved(1).done(on: DroppingDispatcher()) { _ in }
            }
            #expect(found.isEmpty)
        }
    }
}
