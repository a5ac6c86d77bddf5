internal import Deferred

extension MulticastClosures {
    /// A success and a failure closure that were read from a ``MulticastClosures``.
    public struct Pair: Sendable {
        let registration: Registration
        let registry: ListenerRegistry
        let taken: TakenRegistration?

        /// The object that the closures belong to; nil if it was deallocated or the closures were removed.
        public var owner: AnyObject? {
            registration.listener.recipient(in: registry)
        }

        /// Calls the success closure, on its dispatcher or at once, unless the owner was deallocated or the
        /// closures were removed by then.
        public func succeed(_ value: Success) {
            deliver { owner, closures in closures.success(owner, value) }
        }

        /// Calls the failure closure, on its dispatcher or at once, unless the owner was deallocated or the
        /// closures were removed by then.
        public func fail(_ failure: Failure) {
            deliver { owner, closures in closures.failure(owner, failure) }
        }

        private func deliver(
            _ body: @escaping @Sendable (AnyObject, ClosuresListener<Success, Failure>) -> Void
        ) {
            registration.deliver(from: registry, isFound: true) { [taken] owner, listener in
                // Soundness: a MulticastClosures puts nothing else into its registry.
                let closures = unsafeDowncast(listener, to: ClosuresListener<Success, Failure>.self)
                withExtendedLifetime(taken) { body(owner, closures) }
            }
        }
    }
}

/// Soundness of `@unchecked Sendable`: as for ``Listener``.
final class ClosuresListener<Success: Sendable, Failure: Sendable>: Listener, @unchecked Sendable {
    let success: @Sendable (AnyObject, Success) -> Void
    let failure: @Sendable (AnyObject, Failure) -> Void

    init(
        _ owner: AnyObject,
        success: @escaping @Sendable (AnyObject, Success) -> Void,
        failure: @escaping @Sendable (AnyObject, Failure) -> Void
    ) {
        self.success = success
        self.failure = failure
        super.init(owner)
    }
}

/// Keeps a registration that was taken out of its registry's slots in the registry's index, so that it can be
/// removed for as long as it can be called.
final class TakenRegistration: Sendable {
    /// Both are weak: work that waits on a dispatcher retains this, and they retain the dispatcher. The
    /// registry retains the registration, and a pair retains the registry.
    private let registration: WeakReference<Registration>
    private let registry: WeakReference<ListenerRegistry>

    init(_ registration: Registration, of registry: ListenerRegistry) {
        self.registration = WeakReference(registration)
        self.registry = WeakReference(registry)
    }

    deinit {
        if let registration = registration.object { registry.object?.remove([registration]) }
    }
}
