extension Registration {
    /// Has `body` called with the object and the listener, at once or on its dispatcher. False if it is known
    /// already that there is nobody to call.
    @discardableResult
    func deliver(
        from registry: ListenerRegistry,
        _ body: @escaping @Sendable (AnyObject, Listener) -> Void
    ) -> Bool {
        guard isHandedOver, let dispatcher else { return listener.deliver(from: registry, body) }
        guard !listener.isRemoved else { return false }
        // The registry holds the dispatcher.
        dispatcher.dispatch { [listener, weak registry] in listener.deliver(from: registry, body) }
        return true
    }
}

extension Listener {
    /// The object is looked up when its turn has come, and held for as long as `body` runs.
    @discardableResult
    fileprivate final func deliver(
        from registry: ListenerRegistry?,
        _ body: (AnyObject, Listener) -> Void
    ) -> Bool {
        guard let owner = recipient(in: registry) else { return false }
        withExtendedLifetime(owner) { body(owner, self) }
        return true
    }

    /// The object to deliver to, or nil if it was removed or has gone; in that case its registrations go too.
    final func recipient(in registry: ListenerRegistry?) -> AnyObject? {
        if isRemoved { return nil }
        if let owner { return owner }
        registry?.removeGone(self)
        return nil
    }
}
