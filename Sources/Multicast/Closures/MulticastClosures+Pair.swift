extension MulticastClosures {
    /// A success and a failure closure that were read from a ``MulticastClosures``.
    public struct Pair: Sendable {
        let registration: Registration<Closures>
        let registry: ListenerRegistry<Closures>
        let taken: TakenListener<Closures>?

        /// The object that the closures belong to; nil if it has gone or has removed them.
        public var owner: AnyObject? {
            registration.listener.recipient(in: registry)
        }

        /// Calls the success closure, on its dispatcher or at once, unless the owner has gone or removed it by then.
        public func succeed(_ value: Success) {
            registration.deliver(from: registry) { [taken] owner, closures in
                withExtendedLifetime(taken) { closures.success(owner, value) }
            }
        }

        /// Calls the failure closure, on its dispatcher or at once, unless the owner has gone or removed it by then.
        public func fail(_ failure: Failure) {
            registration.deliver(from: registry) { [taken] owner, closures in
                withExtendedLifetime(taken) { closures.failure(owner, failure) }
            }
        }
    }
}

/// Keeps a listener that was taken out findable, so that it can be removed until nobody can call it any more.
final class TakenListener<Payload: Sendable>: Sendable {
    private let listener: Listener<Payload>
    /// Weak, since work that waits on a dispatcher holds this, and the registry holds the dispatcher.
    private weak let registry: ListenerRegistry<Payload>?

    init(_ listener: Listener<Payload>, of registry: ListenerRegistry<Payload>) {
        self.listener = listener
        self.registry = registry
    }

    deinit {
        registry?.remove([listener])
    }
}
