public import Deferred
import Synchronization

public import struct Deferred.Deferred

#if canImport(Combine)
public import Combine
#else
public import OpenCombine
#endif

extension Deferred {
    /// Returns a publisher of this Deferred's value. Each subscription is one consumer, and cancels only for itself: the last
    /// consumer to cancel cancels the work. The value waits for demand, as values of publishers do; a failure does not.
    public var publisher: DeferredPublisher<Value> { DeferredPublisher(deferred: self) }
}

/// A publisher of the outcome of a Deferred; see `Deferred.publisher`.
public struct DeferredPublisher<Output: Sendable>: Publisher {
    /// Whatever the Deferred fails with.
    public typealias Failure = any Error
    let deferred: Deferred<Output>

    /// Attaches the subscriber to the Deferred.
    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == any Error {
        let subscription = DeferredSubscription(to: deferred, subscriber)
        subscriber.receive(subscription: subscription)
        subscription.isReceived.resolve()
    }
}

private final class DeferredSubscription<Value: Sendable>: Subscription, Sendable {
    private final class Flags: Sendable {
        let isDemanded = Atomic(false)
        let isCancelled = Atomic(false)
    }

    let isReceived = Deferred<Void>()
    private let hasDemand = Deferred<Void>()
    private let flags = Flags()
    private let delivery: Deferred<Void>

    init<S: Subscriber>(to deferred: Deferred<Value>, _ subscriber: S)
    where S.Input == Value, S.Failure == any Error {
        // Sound: it is called by one closure of the two, once.
        nonisolated(unsafe) let subscriber = AnySubscriber(subscriber)
        delivery = isReceived.then { deferred }
            .then { [hasDemand] value in hasDemand.thenReturn(value) }
            .done { value in
                _ = subscriber.receive(value)
                subscriber.receive(completion: .finished)
            } fail: { [flags] error in
                guard !flags.isCancelled.load(ordering: .acquiring) else { return }
                subscriber.receive(completion: .failure(error))
            }
    }

    deinit { cancel() }

    func request(_ demand: Subscribers.Demand) {
        if demand > 0, !flags.isDemanded.exchange(true, ordering: .acquiringAndReleasing) {
            hasDemand.resolve()
        }
    }

    func cancel() {
        flags.isCancelled.store(true, ordering: .releasing)
        delivery.cancel()
    }
}
