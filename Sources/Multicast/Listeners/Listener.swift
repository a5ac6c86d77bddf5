internal import Deferred
import Synchronization

/// The receiving end of a registration: a weak reference to an object. Subclasses add what they call: a
/// channel's listener its closure, a pair of closures both.
///
/// Neither this class nor the registry is generic over messages or delegates. Generic code, which is not
/// specialised inside this module, was measured to add and remove listeners at a sixth of the speed.
///
/// Sound as `@unchecked Sendable`: everything here is constant or atomic, but the two places, which belong to the
/// registry and are touched only under its lock; and what subclasses add is a constant of a Sendable type. The object
/// need not be Sendable: this class only counts references to it, which is thread-safe, and passes it only to code
/// that was added to run on its dispatcher, or on the poster's thread.
class Listener: @unchecked Sendable {
    /// The object's identity, by which its listeners can be found even from inside its `deinit`, where weak
    /// references to it are nil already.
    final let identity: ObjectIdentifier

    /// The object, or nil once it is deallocated. Not read under a lock: releasing the object may deallocate
    /// it, and its `deinit` may need that lock.
    final private(set) weak var owner: AnyObject?
    private final let removed = Atomic(false)
    /// Whether its first delivery removes it.
    private final let isOnce: Bool

    /// Where the registry keeps its registration.
    final var slot = 0
    final var placeInIndex = 0

    init(_ object: AnyObject, once: Bool = false) {
        identity = ObjectIdentifier(object)
        owner = object
        isOnce = once
    }

    /// Called if a message is retained when the listener is added, under the registry's lock.
    func expectRetained() {}

    /// Called once the listener gets no more messages: it was removed, or its channel was finished.
    ///
    /// Not under a lock, and possibly more than once.
    func didEnd() {}

    final var isRemoved: Bool { removed.load(ordering: .acquiring) }

    /// Prevents every delivery that has not begun. Returns true to the first caller only.
    @discardableResult
    final func markRemoved() -> Bool {
        !removed.exchange(true, ordering: .acquiringAndReleasing)
    }

    /// The object to deliver to, or nil if the listener was removed or the object deallocated. In the latter
    /// case, removes the object's registrations.
    final func recipient(in registry: ListenerRegistry?) -> AnyObject? {
        if isRemoved { return nil }
        if let owner { return owner }
        registry?.removeGone(self)
        return nil
    }

    /// Calls `body` if the object exists, and retains it while `body` runs.
    @discardableResult
    fileprivate final func deliver(
        from registry: ListenerRegistry?, _ body: (AnyObject, Listener) -> Void
    ) -> Bool {
        guard let owner = recipient(in: registry), begins(in: registry) else { return false }
        withExtendedLifetime(owner) { body(owner, self) }
        return true
    }

    /// Whether a delivery may begin. Of those to a listener that is called once, one may, which removes it.
    private final func begins(in registry: ListenerRegistry?) -> Bool {
        if !isOnce { return true }
        guard markRemoved() else { return false }
        registry?.unlink(self)
        return true
    }
}

/// A listener with its dispatcher and its priority.
///
/// Apart from the listener, so that work that waits on a dispatcher and retains the listener does not retain
/// the dispatcher: a dispatcher that is released with work in it is then deallocated, and its work with it. For that
/// reason, the registry refers weakly to the dispatchers of the listeners that were taken or that ended: it outlives
/// the last call that those can get, and the work of that call may be what a dispatcher retains.
final class Registration: Sendable {
    let listener: Listener
    let dispatcher: (any Dispatcher)?
    /// Whether there is a dispatcher. A test of `dispatcher` itself copies it, a third of the cost of a call
    /// without one.
    let isDispatched: Bool
    let priority: Int

    init(_ listener: Listener, on dispatcher: (any Dispatcher)?, priority: Int = 0) {
        self.listener = listener
        self.dispatcher = dispatcher
        isDispatched = dispatcher != nil
        self.priority = priority
    }

    /// Calls `body` with the object and the listener, at once or on the dispatcher. Returns false if the
    /// listener was removed or its object deallocated before the call was made or submitted.
    @discardableResult
    func deliver(
        from registry: ListenerRegistry, _ body: @escaping @Sendable (AnyObject, Listener) -> Void
    ) -> Bool {
        guard isDispatched, let dispatcher else { return listener.deliver(from: registry, body) }
        guard listener.recipient(in: registry) != nil else { return false }
        // The registry retains the dispatcher, so the work must not retain the registry.
        dispatcher.dispatch { [listener, weak registry] in listener.deliver(from: registry, body) }
        return true
    }

    /// This registration with a weak reference to its dispatcher, or as it is where that is to be retained.
    var referringWeakly: Registration {
        guard let reference = dispatcher.flatMap({ DispatcherReference($0) }) else { return self }
        return Registration(listener, on: reference)
    }
}
