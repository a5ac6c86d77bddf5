import Synchronization

/// The receiving end of a registration: a weakly held object, and what its kind of registration adds (the closures of
/// a channel's listener; nothing for a delegate).
///
/// Soundness of `@unchecked Sendable`: everything is constant or atomic but the two places, which belong to the
/// registry and are touched only under its lock. The object need not be Sendable: nothing is done with it here but
/// counting references, which is thread-safe; it is handed only to code that its owner asked to run on its
/// dispatcher, or on the poster's thread.
final class Listener<Payload: Sendable>: @unchecked Sendable {
    /// Stays the object's identity while that dies, so that it can be found from inside its `deinit`, where weak
    /// references to it are nil already.
    let identity: ObjectIdentifier
    let payload: Payload
    /// Where the registry keeps it.
    var slot = 0
    var placeInIndex = 0

    private weak let object: AnyObject?
    private let removed = Atomic(false)

    init(_ object: AnyObject, _ payload: Payload) {
        identity = ObjectIdentifier(object)
        self.object = object
        self.payload = payload
    }

    /// The object, held for as long as the caller does; nil once it has gone. Never asked for under a lock: giving
    /// the object back may end it, and its `deinit` may want that lock.
    var owner: AnyObject? { object }

    var isRemoved: Bool { removed.load(ordering: .acquiring) }

    /// Ends every delivery that has not begun. True for the one caller that did it.
    func markRemoved() -> Bool {
        !removed.exchange(true, ordering: .acquiringAndReleasing)
    }
}
