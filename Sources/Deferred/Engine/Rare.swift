/// What few links need, kept out of the many that don't: see each property for who uses it.
///
/// Sound as `@unchecked Sendable`: everything is read and written under the lock of the link that it belongs
/// to.
@usableFromInline
final class Rare: @unchecked Sendable {
    static let leastSweep = 32

    /// Runs when the source is cancelled, at most once; dropped when it fires.
    var canceller: (@Sendable (Link) -> Void)?
    /// The thread on which it runs, while it does: what fires the source there is the canceller's outcome
    /// (C1), what fires it elsewhere only came first (C5).
    var cancellerThread: UInt = 0
    /// The links by which a source follows others.
    var following: [Link] = []
    /// Whoever holds its producers, they are not there to fire the source, but to ask whether it was
    /// cancelled.
    var firesOnlyByFollowing = false
    /// The list that fires this link.
    var list: ListState?
    /// How often the link is paused.
    var pauses = 0
    /// Run when the link has fired and all that follows has settled; in the order added.
    var finalizers: [Finalizer] = []
    /// The scope that this link keeps open until its own part is done: it waits, or is paused.
    var heldScope: Scope?
    /// What came of callbacks told before a pause took hold, to go on when the rest have been told (F4).
    var heldBack: [Frame.Task] = []
    /// Links in the list that withdrew since it was last swept, and how many are too many.
    var withdrawals = 0
    var nextSweep = Rare.leastSweep
}

extension Link {
    /// The link's `rare`, made if it has none. Not under the lock: it allocates.
    func ensureRare() -> Rare {
        if let rare = locked({ self.rare }) { return rare }
        let fresh = Rare()
        return locked {
            if let rare { return rare }
            rare = fresh
            return fresh
        }
    }
}
