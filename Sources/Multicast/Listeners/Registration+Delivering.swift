extension Registration {
    /// Calls `body` with the object and the listener, at once or on the dispatcher. Returns false if the
    /// listener was removed or its object deallocated before the call was made or submitted.
    ///
    /// - Parameter isFound: Whether the caller has just checked that the object exists. Then it is checked
    ///   again only when the call is made.
    @discardableResult
    func deliver(
        from registry: ListenerRegistry,
        isFound: Bool = false,
        _ body: @escaping @Sendable (AnyObject, Listener) -> Void
    ) -> Bool {
        guard isDispatched, let dispatcher else { return listener.deliver(from: registry, body) }
        guard !listener.isRemoved, isFound || listener.recipient(in: registry) != nil else { return false }
        // The registry retains the dispatcher, so the work must not retain the registry.
        dispatcher.dispatch { [listener, weak registry] in listener.deliver(from: registry, body) }
        return true
    }
}

extension Listener {
    /// Calls `body` if the object exists, and retains it while `body` runs.
    @discardableResult
    fileprivate final func deliver(
        from registry: ListenerRegistry?,
        _ body: (AnyObject, Listener) -> Void
    ) -> Bool {
        guard let owner = recipient(in: registry) else { return false }
        withExtendedLifetime(owner) { body(owner, self) }
        return true
    }

    /// The object to deliver to, or nil if the listener was removed or the object deallocated. In the latter
    /// case, removes the object's registrations.
    final func recipient(in registry: ListenerRegistry?) -> AnyObject? {
        if isRemoved { return nil }
        if let owner { return owner }
        registry?.removeGone(self)
        return nil
    }
}
