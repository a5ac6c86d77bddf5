extension MulticastDelegate {
    /// Calls `body` with each delegate, on its dispatcher, or at once on this thread where it has none.
    ///
    /// Returns when the delegates without a dispatcher have been called and the calls of the others have been
    /// submitted; it does not wait for those. Calls are submitted in the order added, and those of one `notify`
    /// before those of the next: on a serial queue they are made in that order. They are submitted before the
    /// delegates without a dispatcher are called, so that the order is kept even if one of these notifies again.
    public func notify(_ body: @escaping @Sendable (Delegate) -> Void) {
        let registrations = registry.snapshot()
        let call: @Sendable (AnyObject, Listener) -> Void = { object, listener in
            body(Self.delegate(of: listener, object))
        }
        for case let registration? in registrations where registration.isDispatched {
            registration.deliver(from: registry, call)
        }
        for case let registration? in registrations where !registration.isDispatched {
            registration.deliver(from: registry, call)
        }
    }
}
