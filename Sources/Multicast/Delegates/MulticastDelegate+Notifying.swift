extension MulticastDelegate {
    /// Calls `body` with each delegate, on its dispatcher, or at once on this thread where it has none.
    ///
    /// Returns when those without a dispatcher have been called and the others handed over; it waits for
    /// nobody. Delegates of one dispatcher are handed over in the order added, and one `notify` before the
    /// next: on a serial queue they are called in that order. They are handed over before those without a
    /// dispatcher are called, so that the order holds even if one of these notifies again.
    public func notify(_ body: @escaping @Sendable (Delegate) -> Void) {
        let registrations = registry.snapshot()
        let call: @Sendable (AnyObject, Listener) -> Void = { object, listener in
            body(Self.delegate(of: listener, object))
        }
        for case let registration? in registrations where registration.isHandedOver {
            registration.deliver(from: registry, call)
        }
        for case let registration? in registrations where !registration.isHandedOver {
            registration.deliver(from: registry, call)
        }
    }
}
