import Deferred
import DeferredTesting
import TestSupport
import Testing

/// Outcomes that stand once they have come, on their way to the dispatcher where they are delivered.
@Suite("Torture: delivery", .serialized, .ownThreads, .watchdog)
struct DeliveryRaces {
    private struct Request: Sendable {
        let resolver: Deferred<Int>.Resolver
        let queue = ManualDispatcher()
        let delivered: Deferred<Int>
        let consumer: Deferred<Int>
        let received = SharedLog<Int>()

        init(isDeep: Bool) {
            let (source, resolver) = Deferred<Int>.withResolver()
            self.resolver = resolver
            delivered = source.passingOn(on: queue, { nil }, fileID: #fileID, line: #line)
            let first = delivered.map { [received] value in
                received.add(value)
                return value
            }
            consumer = isDeep ? first.map { $0 } : first
        }
    }

    @Test(
        "C5, O2: a cancel of a consumer as the outcome is delivered ends that alone, or reaches the source",
        arguments: [false, true])
    func cancelledConsumer(isDeep: Bool) {
        Race {
            Request(isDeep: isDeep)
        }.racing(
            { request in
                request.resolver.resolve(1)
                request.queue.run()
            },
            { request in request.consumer.cancel() },
            { request in request.queue.run() }
        ).check { request in
            request.queue.run()
            let outcome = try? request.consumer.currentResult?.get()
            #expect(request.consumer.isSettled && request.delivered.isSettled)
            if outcome == 1 {
                #expect(request.received.all == [1])
            } else {
                #expect(throws: CancellationError.self) { try request.consumer.currentResult?.get() }
            }
            if !request.received.all.isEmpty {
                #expect((try? request.delivered.currentResult?.get()) == 1)
            }
        }
    }
}
