extension ListenerRegistry {
    /// Has `body` called with one listener's object and payload, at once or on its dispatcher. False if it is known
    /// already that there is nobody to call.
    @discardableResult
    func deliver(
        to listener: Listener<Payload>,
        _ body: @escaping @Sendable (AnyObject, Payload) -> Void
    ) -> Bool {
        guard let dispatcher = listener.dispatcher else { return deliverNow(to: listener, body) }
        guard !listener.isRemoved else { return false }
        dispatcher.dispatch { self.deliverNow(to: listener, body) }
        return true
    }

    /// The object is looked up when its turn has come, and held for as long as `body` runs.
    @discardableResult
    private func deliverNow(to listener: Listener<Payload>, _ body: (AnyObject, Payload) -> Void) -> Bool {
        guard let owner = recipient(of: listener) else { return false }
        withExtendedLifetime(owner) { body(owner, listener.payload) }
        return true
    }

    /// The object to deliver to, or nil if it was removed or has gone; in that case its registrations go too.
    func recipient(of listener: Listener<Payload>) -> AnyObject? {
        if listener.isRemoved { return nil }
        if let owner = listener.owner { return owner }
        removeGone(listener)
        return nil
    }
}
