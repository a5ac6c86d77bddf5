/// Deferreds that are cancelled together: those of a screen or a connection, when that ends.
///
/// ```swift
/// final class Screen {
///     private let bag = CancelBag()
///     func load() { fetchPage().done { … }.store(in: bag) }
/// }       // released with its owner, the bag cancels what is still pending
/// ```
///
/// What is settled leaves the bag. The bag is no consumer of what it contains, and does not keep it from being
/// abandoned. Cancelling reaches all before anything begins that the end of one of them allows. Safe from any thread.
public final class CancelBag: Sendable {
    /// Each returns a Deferred that is in the bag; a weak reference to a source that its handles complete: it is
    /// abandoned when the last of those is released (A1).
    private let entries = SpinLocked(CancellableFIFO<@Sendable () -> Link?>())

    /// Creates an empty bag.
    public init() {}

    deinit { cancelAll() }

    /// How many pending Deferreds are in the bag.
    public var count: Int { entries.withLock { $0.count } }

    /// Adds `deferred`, which stays until it is settled; one that is settled is not added.
    ///
    /// A bag cannot be closed: what is added after ``cancelAll()`` stays until the next call of that, or until the
    /// bag is released. To end for good, release the bag, or set a flag before the call and check it after adding.
    public func add(_ deferred: Deferred<some Sendable>) {
        let link = deferred.link
        guard !link.isSettled else { return }
        let (retained, reference) = (link.isCompletedByHandles ? nil : link, WeakReference(link))
        let ticket = entries.withLock { $0.append { retained ?? reference.object } }
        link.whenSettled { [weak self] in _ = self?.entries.withLock { $0.remove(ticket) } }
    }

    /// Empties the bag, and cancels what was in it, as ``Deferred/cancel()`` does for each.
    ///
    /// - Complexity: O(*n*), where *n* is the number of Deferreds in the bag.
    public func cancelAll() {
        let entries = entries.withLock { entries in entries.removeAll() }
        Link.cancel(entries.compactMap { $0() })
    }
}

extension Deferred {
    /// Adds this Deferred to `bag`, which cancels it when the bag is released, and returns this same handle (Combine's
    /// `store(in:)`).
    @discardableResult
    public func store(in bag: CancelBag) -> Self {
        bag.add(self)
        return self
    }
}
