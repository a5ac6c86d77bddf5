/// State that few links need, in an object of its own, so that the other links are smaller.
///
/// Sound as `@unchecked Sendable`: every property is accessed under the lock of the link that it belongs to,
/// or before another thread knows of that link (`setCanceller`, `ListState.start`), or in its `deinit`.
@usableFromInline
final class ColdState: @unchecked Sendable {
    static let leastSweep: Int32 = 32

    /// Runs when the source is cancelled, at most once; released when it is settled.
    var canceller: (@Sendable (Producer) -> Void)?
    /// Returns whether the work that the canceller stops has yet to begin. A closure of the library's, called without a lock.
    var isWaiting: (@Sendable () -> Bool)?
    /// The thread on which it runs, or on which its own Resolver completes the source: that is the
    /// canceller's outcome (C1). A completion by other code, on another thread, merely preceded the cancel (C5).
    var cancellerThread: UInt = 0
    /// The cancels left in this link while it is in transition.
    var requests: [CancelRequest] = []
    /// Says whether a cancel with this link as its root is open.
    var cancelMark: CancelMark?
    /// The links by which a source follows others.
    var following: [Link] = []
    /// The list that completes this link.
    var list: ListState?
    /// Whether its resolvers exist only to query cancellation.
    var completesOnlyByFollowing = false
    /// The number of pauses that have not been undone.
    var pauses: Int32 = 0
    /// The finalizers, in the order added.
    var finalizers: [Finalizer] = []
    /// The scope that this link keeps open while it waits or is paused.
    var retainedScope: FinalizerScope?
    /// Follow-up work suspended by a pause, for after the remaining consumers (F4).
    var suspendedJobs: [DrainLoop.Job] = []
    /// The number of detached links left in the list since it was last swept.
    var detachments: Int32 = 0
    /// The number at which it is swept.
    var nextSweep = ColdState.leastSweep
}

extension Link {
    /// Returns the link's cold state, after creating it if there is none. Takes the lock; allocates outside
    /// it.
    func ensureColdState() -> ColdState {
        if let coldState = locked({ self.coldState }) { return coldState }
        let fresh = ColdState()
        return locked {
            if let coldState { return coldState }
            coldState = fresh
            return fresh
        }
    }
}
