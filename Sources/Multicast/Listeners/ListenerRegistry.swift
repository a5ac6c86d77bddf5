import Deferred

/// Who listens, in the order to call them in: higher priority first, then the order added.
///
/// A post goes over a copy of the slots, made under the lock in constant time (copy-on-write), and calls
/// nobody under it. What is removed is first marked, then unlinked: a delivery looks at the mark, so that
/// what was queued earlier is not made. Listeners whose object has gone are found outside the lock, by
/// whoever comes upon them or when their number has doubled, and removed like others.
final class ListenerRegistry: Sendable {
    private let state = LockedState(ListenerSlots())

    /// Adds a listener after those of its priority. True if it is the first since the last take.
    @discardableResult
    func add(_ registration: Registration) -> Bool {
        let (isFirst, isSweepDue) = state.withLock { state in
            state.append(registration)
            defer { state.isAwaited = true }
            return (!state.isAwaited, state.claimSweep())
        }
        if isSweepDue { sweep() }
        return isFirst
    }

    /// Those whom a post goes to now, in order. There may be empty slots in between.
    func snapshot() -> [Registration?] {
        state.withLock { state in
            state.sort()
            return state.slots
        }
    }

    /// Takes out everyone who would get a post now. They can still be removed, and whoever took them out does
    /// so in the end.
    func take() -> [Registration?] {
        state.withLock { state in
            state.sort()
            defer { state.emptySlots() }
            return state.slots
        }
    }

    /// Removes an object's registrations, on one dispatcher or on any. Also from inside the object's
    /// `deinit`.
    func remove(_ identity: ObjectIdentifier, on dispatcher: (any Dispatcher)?) {
        let registered = state.withLock { $0.index[identity] ?? [] }
        guard let dispatcher else { return remove(registered) }
        remove(
            registered.filter { registration in
                registration.dispatcher.map { isSameDispatcher($0, dispatcher) } ?? false
            }
        )
    }

    /// Removes registrations. They end after the lock, with what the caller or this holds of them.
    func remove(_ registrations: [Registration]) {
        let removed = registrations.filter { $0.listener.markRemoved() }
        if !removed.isEmpty { state.withLock { $0.unlink(removed) } }
    }

    func removeAll() {
        let all = state.withLock { $0.removeAll() }
        for registrations in all.index.values {
            for registration in registrations { _ = registration.listener.markRemoved() }
        }
    }

    /// Removes the registrations of an object that has gone, found by one of its listeners.
    func removeGone(_ listener: Listener) {
        let registered = state.withLock { $0.index[listener.identity] ?? [] }
        remove(registered.filter { $0.listener.owner == nil })
    }

    /// Looks for objects that have gone, and removes their registrations.
    func sweep() {
        let slots = state.withLock { $0.slots }
        remove(slots.compactMap { $0 }.filter { $0.listener.owner == nil })
    }

    /// How many registrations a post would meet, those included whose object has gone without being come
    /// upon.
    var occupiedCount: Int {
        state.withLock { $0.occupied }
    }

    /// How many registrations are held in all, those included that were taken out.
    var indexedCount: Int {
        state.withLock { state in state.index.values.reduce(0) { $0 + $1.count } }
    }
}
