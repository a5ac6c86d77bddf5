import Synchronization

/// The receiving end of a registration: a weakly held object. Subclasses add what their kind calls: a
/// channel's listener its closure, a pair of closures both.
///
/// Neither this nor the registry knows of messages and delegates: code that is generic over them, and so not
/// specialised inside this module, was measured to add and remove listeners at a sixth of the speed.
///
/// Soundness of `@unchecked Sendable`: everything here is constant or atomic, and what subclasses add is a
/// constant of a Sendable type. The object need not be Sendable: nothing is done with it here but counting
/// references, which is thread-safe; it is handed only to code that its owner asked to run on its dispatcher,
/// or on the poster's thread.
class Listener: @unchecked Sendable {
    /// Stays the object's identity while that dies, so that it can be found from inside its `deinit`, where
    /// weak references to it are nil already.
    final let identity: ObjectIdentifier

    private final weak let object: AnyObject?
    private final let removed = Atomic(false)

    init(_ object: AnyObject) {
        identity = ObjectIdentifier(object)
        self.object = object
    }

    /// The object, held for as long as the caller does; nil once it has gone. Never asked for under a lock:
    /// giving the object back may end it, and its `deinit` may want that lock.
    final var owner: AnyObject? { object }

    final var isRemoved: Bool { removed.load(ordering: .acquiring) }

    /// Ends every delivery that has not begun. True for the one caller that did it.
    final func markRemoved() -> Bool {
        !removed.exchange(true, ordering: .acquiringAndReleasing)
    }
}
