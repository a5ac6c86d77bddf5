import Deferred
import DeferredTesting
import TestSupport
import Testing

extension Rules {
    @Suite("Rule F4: dispatchers that are released with work in them") struct DispatcherLifetimes {
        @Test("F4: a dispatcher released with the work of links, of every kind, ends them with .abandoned")
        func kinds() {
            var queue: StoringDispatcher? = StoringDispatcher()
            weak var known: StoringDispatcher?
            known = queue
            let source = Deferred<Int>()
            let failed = Deferred<Int>()
            let links: [Deferred<Int>] = [
                source.map(on: queue!) { $0 }, source.then(on: queue!) { Deferred.resolved($0) },
                failed.recover(on: queue!) { _ in 1 }, source.mapResult(on: queue!) { try $0.get() },
                source.map(on: queue!, { $0 }, recover: { _ in 2 }), source.always(on: queue!) { _ in },
            ]
            source.resolve(1)
            failed.reject(Boom())
            #expect(queue!.count == links.count)
            queue = nil
            #expect(known == nil)
            #expect(links.map(outcome) == Array(repeating: "abandoned", count: links.count))
        }

        @Test("F4: a ManualDispatcher released with the first of several steps on it ends the chain")
        func manualDispatcher() {
            let tracker = LeakTracker()
            var queue: ManualDispatcher? = ManualDispatcher()
            weak var known: ManualDispatcher?
            known = queue
            let chain = Deferred.resolved(1)
                .map(on: queue!) { [life = tracker.begin()] value in life.returning(value) }
                .map { $0 + 1 }
                .map(on: queue!) { $0 + 1 }
                .finally(on: queue!) { [life = tracker.begin()] _ in life.use() }
            #expect(queue!.count == 1)
            queue = nil
            #expect(known == nil)
            #expect(outcome(chain) == "abandoned")
            #expect(tracker.alive == 0)
        }

        @Test("F4: a ManualClock released with the timeout of a chain and a step on it ends the chain")
        func manualClock() {
            var clock: ManualClock? = ManualClock()
            weak var known: ManualClock?
            known = clock
            let late = Deferred.after(.seconds(1), on: clock!, value: 1).map(on: clock!) { $0 }
            let limited = Deferred.resolved(1).map(on: clock!) { $0 }.timeout(.seconds(1), on: clock!)
            clock = nil
            #expect(known == nil)
            #expect([outcome(late), outcome(limited)] == ["abandoned", "abandoned"])
        }

        @Test("F4: a link whose work is submitted is described with its dispatcher, which it does not retain")
        func described() {
            let queue = StoringDispatcher()
            let link = Deferred.resolved(1).map(on: queue) { $0 }
            #expect("\(link)".contains("StoringDispatcher"))
            let manual = ManualDispatcher()
            #expect("\(Deferred.resolved(1).map(on: manual) { $0 })".contains("ManualDispatcher"))
            queue.runAll()
            #expect(outcome(link) == "1")
            manual.run()
        }

        @Test("Z1: a finalizer released with its dispatcher runs there and then")
        func finalizer() {
            let log = Log()
            var queue: StoringDispatcher? = StoringDispatcher()
            weak var known: StoringDispatcher?
            known = queue
            let source = Deferred<Int>()
            source.finally(on: queue!) { log("finalizer \(outcome($0))") }
            source.resolve(1)
            #expect(log.all.isEmpty)
            queue = nil
            #expect(log.all == ["finalizer 1"])
            #expect(known == nil)
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
