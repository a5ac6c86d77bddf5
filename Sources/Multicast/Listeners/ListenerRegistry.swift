import Deferred

/// The listeners in the order in which they are called: higher priority first, then the order added.
///
/// A post iterates over a copy of the slots, made under the lock in constant time (copy-on-write), and calls
/// no listener under the lock. A listener that is removed is first marked, then unlinked. A delivery checks
/// the mark, so that one that was queued before the removal is not made. Listeners whose object was
/// deallocated are found outside the lock, by deliveries or when the number of listeners has doubled, and
/// removed like others.
final class ListenerRegistry: Sendable {
    private let state = LockedState(ListenerSlots())

    /// What `add` returns for a new listener.
    struct Admission {
        /// Whether it is the first since the last take.
        let isFirst: Bool
        /// What the last post retained. A post retains its message and finds its listeners in one critical
        /// section, so a listener gets each retained message either from the post or from here.
        let retained: (any AnyObject & Sendable)?
    }

    /// Adds a listener after those of its priority. Returns nil, and adds nothing, once finished.
    @discardableResult
    func add(_ registration: Registration) -> Admission? {
        let (admission, isSweepDue) = state.withLock { state -> (Admission?, Bool) in
            guard !state.isFinished else { return (nil, false) }
            state.append(registration)
            let admission = Admission(isFirst: !state.isAwaited, retained: state.retained)
            state.isAwaited = true
            return (admission, state.claimSweep())
        }
        if isSweepDue { sweep() }
        return admission
    }

    /// Returns the listeners of a post at this moment, in order. There may be empty slots in between.
    func snapshot() -> [Registration?] {
        state.withLock { state in
            state.sort()
            return state.sharedSlots()
        }
    }

    /// As ``snapshot()``, and in the same step replaces what is retained for later listeners.
    func snapshot(retaining retained: any AnyObject & Sendable) -> [Registration?] {
        var exchanged: (any AnyObject & Sendable)? = retained
        // What was retained before is released after the lock.
        defer { withExtendedLifetime(exchanged) {} }
        return state.withLock { state in
            if !state.isFinished { swap(&state.retained, &exchanged) }
            state.sort()
            return state.sharedSlots()
        }
    }

    /// What is retained for later listeners.
    var retained: (any AnyObject & Sendable)? {
        state.withLock { $0.retained }
    }

    /// Releases what is retained for later listeners.
    func removeRetained() {
        let removed = state.withLock { $0.retained.take() }
        withExtendedLifetime(removed) {}
    }

    /// Adds no listener from now on, and ends the present ones. What was queued for them before is still
    /// delivered, unless they are removed.
    func finish() {
        let (slots, retained) = state.withLock { state in
            defer { state.emptySlots() }
            state.isFinished = true
            return (state.slots, state.retained.take())
        }
        for registration in slots { registration?.listener.didEnd() }
        withExtendedLifetime(retained) {}
    }

    var isFinished: Bool {
        state.withLock { $0.isFinished }
    }

    /// Whether there is no registration that a post would meet, and nothing retained.
    var isUnused: Bool {
        state.withLock { $0.occupied == 0 && $0.retained == nil }
    }

    /// Takes the listeners of a post out of their slots and returns them. They can still be removed, and the
    /// caller does so in the end.
    func take() -> [Registration?] {
        state.withLock { state in
            state.sort()
            defer { state.emptySlots() }
            return state.slots
        }
    }

    /// Removes an object's registrations, on one dispatcher or on any. Also from inside the object's
    /// `deinit`.
    func remove(_ identity: ObjectIdentifier, on dispatcher: (any Dispatcher)?, _ site: CallSite) {
        let registered = state.withLock { $0.registrations(of: identity) }
        guard let dispatcher else { return remove(registered) }
        remove(
            registered.filter { registration in
                registration.dispatcher.map { isSameDispatcher($0, dispatcher, site) } ?? false
            }
        )
    }

    /// Removes registrations. They are released after the lock, by the caller or by this function.
    func remove(_ registrations: [Registration]) {
        let removed = registrations.filter { $0.listener.markRemoved() }
        if !removed.isEmpty { state.withLock { $0.unlink(removed) } }
        for registration in removed { registration.listener.didEnd() }
    }

    func removeAll() {
        let all = state.withLock { $0.removeAll() }
        for registrations in all.index.values {
            for registration in registrations where registration.listener.markRemoved() {
                registration.listener.didEnd()
            }
        }
    }

    /// Removes the registrations of a deallocated object, found by one of its listeners.
    func removeGone(_ listener: Listener) {
        let registered = state.withLock { $0.registrations(of: listener.identity) }
        remove(registered.filter { $0.listener.owner == nil })
    }

    /// Removes the registrations of all deallocated objects.
    func sweep() {
        let slots = state.withLock { $0.sharedSlots() }
        remove(slots.compactMap { $0 }.filter { $0.listener.owner == nil })
    }

    /// Returns whether there is a listener whose object exists. Removes the others that it finds first, so that
    /// it finds each of them once.
    func hasLivingListener() -> Bool {
        while let registration = state.withLock({ $0.last }) {
            // A listener that another thread is removing counts: the caller asks again later.
            if registration.listener.isRemoved || registration.listener.owner != nil { return true }
            removeGone(registration.listener)
        }
        return false
    }

    /// The number of registrations in slots, including those of deallocated objects that were not found yet.
    var occupiedCount: Int {
        state.withLock { $0.occupied }
    }

    /// The number of all registrations, including those that were taken out of their slots.
    var indexedCount: Int {
        state.withLock { state in state.index.values.reduce(0) { $0 + $1.count } }
    }
}
