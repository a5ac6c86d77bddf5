import CombineBridge
import Deferred
import DeferredTesting
import Synchronization
import Testing

import struct Deferred.Deferred

#if canImport(Combine)
import Combine
#else
import OpenCombine
#endif

@Suite struct CombineBridgeTests {
    private struct Failed: Error, Equatable {}

    /// Notes what it receives, and asks for as much as a test says. Sound: the tests use one thread.
    private final class Probe: Subscriber, @unchecked Sendable {
        var subscription: (any Subscription)?
        var values: [Int] = []
        var completion: Subscribers.Completion<any Error>?

        func receive(subscription: any Subscription) { self.subscription = subscription }
        func receive(_ input: Int) -> Subscribers.Demand {
            values.append(input)
            return .none
        }
        func receive(completion: Subscribers.Completion<any Error>) { self.completion = completion }
        var isFinished: Bool { if case .finished? = completion { true } else { false } }
        var error: (any Error)? { if case .failure(let error)? = completion { error } else { nil } }
    }

    /// A publisher that notes what it is asked for and whether it is cancelled, and publishes when a test says so.
    private struct Counter: Publisher {
        typealias Output = Int
        typealias Failure = Failed
        final class Source: Subscription, @unchecked Sendable {
            var demand = 0
            var isCancelled = false
            var subscriber: AnySubscriber<Int, Failed>?
            func request(_ demand: Subscribers.Demand) { self.demand += demand.max ?? 1_000_000 }
            func cancel() { isCancelled = true; subscriber = nil }
            func publish(_ value: Int) {
                demand -= 1
                demand += subscriber?.receive(value).max ?? 0
            }
        }
        let source = Source()
        func receive<S: Subscriber>(subscriber: S) where S.Input == Int, S.Failure == Failed {
            source.subscriber = AnySubscriber(subscriber)
            subscriber.receive(subscription: source)
        }
    }

    // MARK: Deferreds as publishers

    @Test("Combine: a Deferred is a publisher of its value, which operators and sink receive")
    func publishes() {
        let deferred = Deferred<Int>()
        let received = Mutex<[String]>([])
        let sink = deferred.publisher.map { $0 * 2 }.sink { completion in
            received.withLock { $0.append("\(completion)") }
        } receiveValue: { value in
            received.withLock { $0.append("\(value)") }
        }
        #expect(received.withLock { $0.isEmpty })
        deferred.resolve(21)
        #expect(received.withLock { $0 } == ["42", "finished"])
        sink.cancel()
    }

    @Test("Combine: a value waits for demand, and a failure does not")
    func demand() {
        let probe = Probe()
        Deferred.resolved(1).publisher.subscribe(probe)
        #expect(probe.values.isEmpty && probe.completion == nil)
        probe.subscription?.request(.none)
        #expect(probe.values.isEmpty)
        probe.subscription?.request(.max(1))
        probe.subscription?.request(.unlimited)
        #expect(probe.values == [1] && probe.isFinished)

        let failed = Probe()
        Deferred<Int>.rejected(Failed()).publisher.subscribe(failed)
        #expect(failed.error is Failed && failed.subscription != nil)
    }

    @Test("Combine: a subscription that is cancelled receives nothing, and the last one stops the work")
    func cancels() {
        let stopped = Mutex(0)
        let work = Deferred<Int>(canceller: { _ in stopped.withLock { $0 += 1 } })
        let (first, second) = (Probe(), Probe())
        work.publisher.subscribe(first)
        work.publisher.subscribe(second)
        first.subscription?.request(.unlimited)
        first.subscription?.cancel()
        #expect(stopped.withLock { $0 } == 0 && first.completion == nil)
        second.subscription?.cancel()
        #expect(stopped.withLock { $0 } == 1 && second.completion == nil && first.completion == nil)
        second.subscription?.cancel()
    }

    @Test("Combine: an AnyCancellable that is released cancels; work that others cancelled is a failure")
    func released() {
        let stopped = Mutex(0)
        let work = Deferred<Int>(canceller: { _ in stopped.withLock { $0 += 1 } })
        do {
            _ = work.publisher.sink { _ in
            } receiveValue: { _ in
            }
        }
        #expect(stopped.withLock { $0 } == 1)

        let probe = Probe()
        let other = Deferred<Int>()
        other.publisher.subscribe(probe)
        other.cancel()
        #expect(probe.error is CancellationError)
    }

    @Test("Combine: a subscription leaves nothing behind, settled or cancelled")
    func leaks() {
        weak var settled: Probe?
        weak var cancelled: Probe?
        let work = Deferred<Int>()
        do {
            let (one, two) = (Probe(), Probe())
            (settled, cancelled) = (one, two)
            work.publisher.subscribe(one)
            work.publisher.subscribe(two)
            one.subscription?.request(.unlimited)
            two.subscription?.cancel()
            one.subscription = nil
            two.subscription = nil
        }
        work.resolve(1)
        #expect(settled == nil && cancelled == nil)
    }

    // MARK: Publishers as Deferreds

    @Test("Combine: the first value of a publisher, which is asked for one and then cancelled")
    func first() throws {
        let counter = Counter()
        let deferred = counter.deferred()
        #expect(counter.source.demand == 1)
        counter.source.publish(7)
        #expect(try successResult(of: deferred) == 7)
        #expect(counter.source.isCancelled)
        #expect(try successResult(of: [1, 2, 3].publisher.deferred()) == 1)
        #expect(try successResult(of: Just(1).deferred()) == 1)
    }

    @Test("Combine: a publisher without a value, with an error, and one that forgets its subscriber")
    func none() throws {
        let error = try failureResult(of: Fail<Int, Failed>(error: Failed()).deferred())
        #expect(error is Failed)
        #expect(
            try failureResult(of: Empty<Int, Failed>().deferred()) as? DeferredError == .empty)
        let counter = Counter()
        let forgotten = counter.deferred()
        counter.source.subscriber = nil
        #expect(try failureResult(of: forgotten) as? DeferredError == .abandoned)
    }

    @Test("Combine: a cancel of the Deferred cancels the subscription")
    func cancelsSubscription() throws {
        let counter = Counter()
        let deferred = counter.deferred().map { $0 + 1 }
        deferred.cancel()
        #expect(counter.source.isCancelled)
        #expect(try failureResult(of: deferred) is CancellationError)
    }

    @Test("Combine: one there and back is the same outcome")
    func roundTrip() throws {
        #expect(try successResult(of: Deferred.resolved(1).publisher.deferred()) == 1)
        #expect(try failureResult(of: Deferred<Int>.rejected(Failed()).publisher.deferred()) is Failed)
    }

    // MARK: Publishers into queues

    @Test("Combine: a queue's room is the demand of the publisher that fills it")
    func fills() async throws {
        let (counter, queue) = (Counter(), DeferredQueue<Int>(size: 2))
        let sent = counter.send(to: queue)
        for value in 1...3 {
            #expect(counter.source.demand == 1)
            counter.source.publish(value)
        }
        #expect(counter.source.demand == 0)  // The third value waits for room.
        #expect(try successResult(of: queue.get()) == 1)
        #expect(counter.source.demand == 1)
        counter.source.subscriber?.receive(completion: .finished)
        #expect(try successResult(of: sent) == ())
        #expect(try successResult(of: queue.get()) == 2)
        #expect(try successResult(of: queue.get()) == 3)
        #expect(try failureResult(of: queue.get()) as? DeferredError == .finished)
    }

    @Test("Combine: a sequence's values, more than there is room for, arrive in order in a loop")
    func loop() async throws {
        let queue = DeferredQueue<Int>(size: 2)
        let sent = (1...100).publisher.send(to: queue)
        var values: [Int] = []
        for try await value in queue { values.append(value) }
        #expect(values == Array(1...100))
        try await sent.value
    }

    @Test("Combine: a cancel and an error end the filling; the queue stays open for others")
    func endsFilling() throws {
        let (counter, queue) = (Counter(), DeferredQueue<Int>(size: 1))
        let sent = counter.send(to: queue)
        sent.cancel()
        #expect(counter.source.isCancelled)
        let failed = Fail<Int, Failed>(error: Failed()).send(to: queue)
        #expect(try failureResult(of: failed) is Failed)
        try queue.put(1)
        queue.finish()
        let late = Just(1).send(to: queue)
        #expect(try failureResult(of: late) as? DeferredError == .finished)
    }
}
