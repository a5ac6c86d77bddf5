internal import Deferred

/// The listeners in the order in which they are called: higher priority first, then the order added.
///
/// A post iterates over an array that never changes, and calls no listener under the lock. The array is made by the
/// first post after a change, and shared by the posts that follow. A listener that is removed is first marked, then
/// unlinked. A delivery checks the mark, so that one that was queued before the removal is not made. Listeners whose
/// object was deallocated are found outside the lock, by deliveries or when the number of listeners has doubled, and
/// removed like others.
///
/// This is the one lock of delegates, channels and closures. ``ListenerSlots`` decides under it; what that removes or
/// returns is released after it, and a weak reference is never loaded under it: its release may deallocate the
/// object.
final class ListenerRegistry: Sendable {
    let state = SpinLocked(ListenerSlots())

    /// Adds a listener after those of its priority. Returns nil, and adds nothing, once finished.
    @discardableResult
    func add(_ registration: Registration) -> ListenerSlots.Admission? {
        let admission = state.withLock { $0.add(registration) }
        if admission?.isSweepDue == true { sweep() }
        return admission
    }

    /// Returns the listeners of a post at this moment, in order. If there is a message to retain, it replaces, in the
    /// same step, what is retained for later listeners.
    func snapshot(retaining message: (any AnyObject & Sendable)? = nil) -> [Registration] {
        var exchanged = message
        // What was retained before is released after the lock.
        defer { withExtendedLifetime(exchanged) {} }
        return state.withLock { $0.snapshot(exchanging: &exchanged) }
    }

    /// What is retained for later listeners.
    var retained: (any AnyObject & Sendable)? { state.withLock { $0.retained } }

    /// Releases what is retained for later listeners.
    func removeRetained() { _ = state.withLock { $0.retained.take() } }

    /// Adds no listener from now on, and ends and releases the present ones. What was queued for them before is still
    /// delivered, unless they are removed.
    func finish() {
        do {
            let before = state.withLock { $0.finish() }
            for registration in before.index.values.joined() { registration.listener.didEnd() }
        }
        // Forgets those that nothing retains. The list before is released after the lock.
        var queued = state.withLock { $0.ended }?
            .mapValues { $0.filter { $0.listener.object != nil } }.filter { !$0.value.isEmpty }
        state.withLock { $0.exchangeEnded(&queued) }
    }

    var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Whether there is no registration that a post would meet, and nothing retained.
    var isUnused: Bool { state.withLock { $0.occupied == 0 && $0.retained == nil } }

    /// Takes the listeners of a post out of their slots and returns them. They can still be removed, and the
    /// caller does so in the end.
    func take() -> [Registration] { state.withLock { $0.take() } }

    /// Removes an object's registrations, on one dispatcher or on any. Also from inside the object's
    /// `deinit`.
    func remove(_ identity: ObjectIdentifier, on dispatcher: (any Dispatcher)?, _ site: CallSite) {
        func isMeant(_ own: (any Dispatcher)?) -> Bool {
            guard let dispatcher else { return true }
            return own.map { isSameDispatcher($0, dispatcher, site) } ?? false
        }
        let (registered, ended) = state.withLock {
            ($0.registrations(of: identity), $0.ended(of: identity))
        }
        remove(registered.filter { isMeant($0.dispatcher) }.map(\.listener))
        for (former, own) in ended {
            if let former = former.object, isMeant(own) { former.markRemoved() }
        }
        if dispatcher == nil, !ended.isEmpty { _ = state.withLock { $0.removeEnded(of: identity) } }
    }

    /// Removes listeners. Their registrations are released after the lock.
    func remove(_ listeners: [Listener]) {
        let removed = listeners.filter { $0.markRemoved() }
        if !removed.isEmpty { _ = state.withLock { $0.unlink(removed) } }
        for listener in removed { listener.didEnd() }
    }

    /// Releases the registration of a listener that is marked as removed, after the lock.
    func unlink(_ listener: Listener) { _ = state.withLock { $0.unlink([listener]) } }

    /// Removes every listener, also those that were taken and those that ended.
    func removeAll() {
        let all = state.withLock { $0.removeAll() }
        remove(all.index.values.joined().map(\.listener))
        for former in (all.ended ?? [:]).values.joined() { former.listener.object?.markRemoved() }
    }

    /// Removes the registrations of a deallocated object, found by one of its listeners.
    func removeGone(_ listener: Listener) {
        let registered = state.withLock { $0.registrations(of: listener.identity) }
        remove(registered.map(\.listener).filter { $0.owner == nil })
    }

    /// Removes the registrations of all deallocated objects.
    func sweep() { remove(snapshot().map(\.listener).filter { $0.owner == nil }) }

    /// Returns whether there is a listener whose object exists. Removes the others that it finds first, so that
    /// it finds each of them once.
    func hasLivingListener() -> Bool {
        for registration in snapshot().reversed() {
            // A listener that another thread is removing counts: the caller asks again later.
            if registration.listener.isRemoved || registration.listener.owner != nil { return true }
            removeGone(registration.listener)
        }
        return false
    }
}
