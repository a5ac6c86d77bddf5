import Synchronization

/// The receiving end of a registration: a weak reference to an object. Subclasses add what they call: a
/// channel's listener its closure, a pair of closures both.
///
/// Neither this class nor the registry is generic over messages or delegates. Generic code, which is not
/// specialised inside this module, was measured to add and remove listeners at a sixth of the speed.
///
/// Soundness of `@unchecked Sendable`: everything here is constant or atomic, and what subclasses add is a
/// constant of a Sendable type. The object need not be Sendable: this class only counts references to
/// it, which is thread-safe, and passes it only to code that was added to run on its dispatcher, or on the
/// poster's thread.
class Listener: @unchecked Sendable {
    /// The object's identity, by which its listeners can be found even from inside its `deinit`, where weak
    /// references to it are nil already.
    final let identity: ObjectIdentifier

    private final weak var object: AnyObject?
    private final let removed = Atomic(false)

    init(_ object: AnyObject) {
        identity = ObjectIdentifier(object)
        self.object = object
    }

    /// The object, or nil once it is deallocated. Not read under a lock: releasing the object may deallocate
    /// it, and its `deinit` may need that lock.
    final var owner: AnyObject? { object }

    /// Called once the listener gets no more messages: it was removed, or its channel was finished.
    ///
    /// Not under a lock, and possibly more than once.
    func didEnd() {}

    final var isRemoved: Bool { removed.load(ordering: .acquiring) }

    /// Prevents every delivery that has not begun. Returns true to the first caller only.
    final func markRemoved() -> Bool {
        !removed.exchange(true, ordering: .acquiringAndReleasing)
    }
}
