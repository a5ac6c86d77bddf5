internal import Synchronization

/// A cancel that has not taken effect yet, known by its root: the link that it began with (C5).
///
/// Five invariants make sure that no cancel is lost:
///
/// 1. A request is in one place: in the walk of a thread, or in a link in transition (`ColdState.requests`).
///    A link is in transition while its step runs, while its canceller runs or is about to, and as a source
///    while it follows others; and one that keeps its outcome from when that is on its way.
/// 2. The thread that ends the transition takes the requests out. Each begins again at its root, before a
///    consumer of the link is notified.
/// 3. A request ends when its root is settled, when a canceller has answered it, or when the error has entered the
///    chain: a source has failed, a link has been detached, or a link that is yet to be dequeued, or to be run by a
///    dispatcher, has been interrupted in its place.
/// 4. Until it ends, its root receives no outcome but `CancellationError`: the root has a ``Protection``.
/// 5. A source that follows others keeps a request, and makes one for each follower. It keeps it beyond the end of
///    those, since the error has yet to arrive: until it is settled, or until all of them were answered; see
///    ``DrainLoop/noteAnswer(at:)``. A cancel that comes meanwhile begins again at the followers whose requests have
///    ended.
struct CancelRequest {
    let root: Link
    /// `nil` if the root is a source, or only receives the outcome for a list.
    private var protection: Protection?
    /// Whether the request may be left in a link: its root is protected, or needs no protection.
    private(set) var isSecured = false
    /// Whether it was put off until the others of a cancel of several have been walked.
    var wasPutOff = false

    init(_ root: Link) { self.root = root }

    /// Returns a request for each of the links by which a source follows others. They are protected from the
    /// start: one of those may settle the source before the request has reached the next.
    static func securing(_ followers: [Link]) -> [CancelRequest] {
        followers.compactMap { follower in
            var request = CancelRequest(follower)
            return request.secure() ? request : nil
        }
    }

    /// Whether the request has not ended.
    var isOpen: Bool { protection?.isOpen ?? true }

    /// Ends the request: the error has entered the chain, or a canceller has answered. Under the lock of the
    /// link where that was decided, so that the root is unprotected before a later outcome reaches it.
    func end() { _ = protection?.close() }

    /// Protects the root. Returns false if there is nothing left to do: the root is settled, or is being
    /// cancelled.
    mutating func secure() -> Bool {
        if isSecured { return true }
        let receivesOutcome = root.locked { root.payload.kind == .observer || root.payload.kind == .noOp }
        let coldState = receivesOutcome ? nil : root.ensureColdState()
        let fresh = Protection()
        let needsProtection: Bool? = root.locked {
            let needed = root.state.protect(
                isProtectionOpen: root.isProtectionOpen, receivesOutcome: receivesOutcome)
            if needed == true { coldState?.protection = fresh }
            return needed
        }
        if needsProtection == true { protection = fresh }
        isSecured = needsProtection != nil
        return isSecured
    }
}

/// Protects the root of one cancel from other outcomes as long as that is open. One exchange closes it, so that of a cancel
/// that is ending and an outcome that reaches the root one is first.
final class Protection: Sendable {
    private let state = Atomic<Bool>(true)

    var isOpen: Bool { state.load(ordering: .acquiring) }

    /// Returns whether this call closed it.
    func close() -> Bool { state.exchange(false, ordering: .acquiringAndReleasing) }
}
