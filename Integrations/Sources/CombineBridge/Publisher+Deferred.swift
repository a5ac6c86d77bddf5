public import Deferred

public import struct Deferred.Deferred

// The same source with either: Combine where it is, OpenCombine elsewhere. Both have a publisher named `Deferred`; the
// import by name above makes it this package's.
#if canImport(Combine)
public import Combine
#else
public import OpenCombine
#endif

extension Publisher where Output: Sendable {
    /// Subscribes, and returns a Deferred with the first value. It asks for one value and then cancels the subscription; a
    /// cancel of the Deferred cancels it, too. A publisher that finishes without a value makes it fail with
    /// `DeferredError.empty`, one that drops its subscriber with `.abandoned`.
    public func deferred(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred<Output> {
        let subscription = Deferred<Received>()
        let (deferred, resolver) = Deferred<Output>.withResolver(
            canceller: { _ in subscription.done { $0.subscription.cancel() } }, fileID: fileID, line: line)
        subscribe(FirstValue<Output, Failure>(subscription: subscription, resolver: resolver))
        return deferred
    }

    /// Subscribes, and sends each value to `queue`, whose room is the demand: the next value is asked for when there was room
    /// for the one before. Finishes the queue when the publisher finishes.
    ///
    /// - Returns: A Deferred that is resolved then, or fails with the publisher's error. A cancel of it cancels the
    ///   subscription; the queue is not finished then, nor after an error.
    public func send(
        to queue: DeferredQueue<Output>, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        let subscription = Deferred<Received>()
        let (deferred, resolver) = Deferred<Void>.withResolver(
            canceller: { _ in subscription.done { $0.subscription.cancel() } }, fileID: fileID, line: line)
        subscribe(Sender<Output, Failure>(subscription: subscription, queue: queue, resolver: resolver))
        return deferred
    }
}

/// What a publisher passes to its subscriber. Sound: a subscription may be asked and cancelled from any thread.
private struct Received: @unchecked Sendable {
    let subscription: any Subscription
}

private final class FirstValue<Input: Sendable, Failure: Error>: Subscriber, Sendable {
    private let subscription: Deferred<Received>
    private let resolver: Deferred<Input>.Resolver

    init(subscription: Deferred<Received>, resolver: Deferred<Input>.Resolver) {
        (self.subscription, self.resolver) = (subscription, resolver)
    }

    func receive(subscription: any Subscription) {
        self.subscription.resolve(Received(subscription: subscription))
        subscription.request(.max(1))
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        subscription.done { $0.subscription.cancel() }
        resolver.resolve(input)
        return .none
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        guard !resolver.isSettled else { return }  // The value was there.
        switch completion {
        case .finished: resolver.reject(DeferredError.empty)
        case .failure(let error): resolver.reject(error)
        }
    }
}

private final class Sender<Input: Sendable, Failure: Error>: Subscriber, Sendable {
    private let subscription: Deferred<Received>
    private let queue: DeferredQueue<Input>
    private let resolver: Deferred<Void>.Resolver

    init(subscription: Deferred<Received>, queue: DeferredQueue<Input>, resolver: Deferred<Void>.Resolver) {
        (self.subscription, self.queue, self.resolver) = (subscription, queue, resolver)
    }

    func receive(subscription: any Subscription) {
        self.subscription.resolve(Received(subscription: subscription))
        subscription.request(.max(1))
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        queue.send(input).done { [subscription] in
            subscription.done { $0.subscription.request(.max(1)) }
        }
        .fail { [subscription, resolver] error in
            subscription.done { $0.subscription.cancel() }
            resolver.reject(error)
        }
        return .none
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        guard !resolver.isSettled else { return }  // The queue was finished by another.
        switch completion {
        case .finished:
            queue.finish()
            resolver.resolve(())
        case .failure(let error): resolver.reject(error)
        }
    }
}
