internal import Synchronization

/// A cancel that has not taken effect yet, known by its root: the link that it began with (C5).
///
/// Five invariants make sure that no cancel is lost:
///
/// 1. A request is in one place: in the walk of a thread, or in a link in transition (`ColdState.requests`). A link is in
///    transition while its step runs, while its canceller runs or is about to, and as a source while it follows others.
/// 2. The thread that ends the transition takes the requests out. Each begins again at its root, before a consumer of the
///    link is notified.
/// 3. A request ends when its root is settled, or when the error has entered the chain: a source has failed, a link has been
///    detached, or a link that is yet to be dequeued, or to be run by a dispatcher, has been marked in its place.
/// 4. Until it ends, its root receives no outcome but `CancellationError`: the root has a ``CancelMark``.
/// 5. A source that follows others keeps a request until it is settled, and makes one for each that it follows.
struct CancelRequest {
    let root: Link
    /// Protects the root; `nil` if the root is a source, or only receives the outcome for a list.
    private var mark: CancelMark?
    /// Whether the request may be left in a link: its root is protected, or needs no protection.
    private(set) var isSecured = false
    /// Whether the root is to be protected from the start: that of a source that follows others, which may be settled by
    /// one of them before the request has reached the next.
    let isForFollower: Bool

    init(_ root: Link, isForFollower: Bool = false) {
        self.root = root
        self.isForFollower = isForFollower
    }

    /// Whether the request has not ended.
    var isOpen: Bool { mark?.isOpen ?? true }

    /// Ends the request: the error has entered the chain, or a canceller has answered. Under the lock of the link where that
    /// was decided, so that the root is unprotected before a later outcome reaches it.
    func end() { _ = mark?.end() }

    /// Protects the root. Returns false if there is nothing left to do: the root is settled, or is being cancelled.
    mutating func secure() -> Bool {
        if isSecured { return true }
        let needsMark = root.locked { root.payload.kind != .observer && root.payload.kind != .consume }
        let coldState = needsMark ? root.ensureColdState() : nil
        return root.locked {
            switch root.phase {
            case .settled, .bypassed: return false
            case .source: break
            case .waiting, .detached, .running, .dispatched:
                guard let coldState else { break }
                if root.isCancelPending { return false }
                mark = CancelMark()
                coldState.cancelMark = mark
                root.flags.insert(.cancelPending)
            }
            isSecured = true
            return true
        }
    }
}

/// Says whether the cancel of one root is open. One exchange ends it, so that of a cancel that is ending and an outcome that
/// reaches the root one is first.
final class CancelMark: Sendable {
    private let state = Atomic<Bool>(true)

    var isOpen: Bool { state.load(ordering: .acquiring) }

    /// Returns whether this call ended it.
    func end() -> Bool { state.exchange(false, ordering: .acquiringAndReleasing) }
}

extension Link {
    /// Whether this link is to receive `CancellationError` in place of an outcome. Under the lock.
    var isCancelPending: Bool {
        flags.contains(.cancelPending) && coldState?.cancelMark?.isOpen ?? true
    }

    /// Whether this link ends with `CancellationError` where it would otherwise be abandoned or end a cycle (C5). Under the
    /// lock.
    var wasCancelled: Bool {
        isCancelPending || flags.contains(.cancelled) || coldState.map { !$0.requests.isEmpty } ?? false
    }

    /// Marks this link, which has yet to be dequeued or to be run by a dispatcher: it receives `CancellationError`. An
    /// observer of a list receives the outcome: a list cancels pending inputs only. Under the lock.
    func interrupt() {
        if payload.kind == .observer { return }
        if let coldState, let mark = coldState.cancelMark, !mark.isOpen { coldState.cancelMark = nil }
        flags.insert(.cancelPending)
    }

    /// Ends the mark of this link, which is dequeued or begins to run on its dispatcher. Returns whether it receives
    /// `CancellationError` in place of the outcome. Under the lock.
    @inline(__always)
    func takeCancellation() -> Bool { flags.contains(.cancelPending) && takeMark() }

    @inline(never)
    private func takeMark() -> Bool {
        flags.remove(.cancelPending)
        guard let mark = coldState?.cancelMark else { return true }
        flags.insert(.wasMarked)
        return mark.end()
    }

    /// Makes a running link `dispatched`. Requests that were left in it end with a mark. Returns them, to be released after
    /// the lock. Under the lock.
    func becomeDispatched() -> [CancelRequest] {
        phase = .dispatched
        guard let coldState, !coldState.requests.isEmpty else { return [] }
        interrupt()
        let requests = coldState.takeRequests()
        for request in requests where request.root !== self { request.end() }
        return requests
    }
}

extension Link {
    /// A failure with `error`, or with `CancellationError` if this link was cancelled. Under the lock.
    func failure(_ error: DeferredError) -> Payload { .failure(wasCancelled ? CancellationError() : error) }

    /// Notes that this source was cancelled: the first late result is dropped (C2). Under the lock.
    func noteCancel() {
        if !flags.contains(.cancelled) { flags.insert([.cancelled, .dropsLateResult]) }
    }

    /// Whether this source follows others. Under the lock.
    var isFollowing: Bool { coldState.map { !$0.following.isEmpty } ?? false }
}

extension ColdState {
    /// The caller releases them after the lock.
    func takeRequests() -> [CancelRequest] {
        var taken: [CancelRequest] = []
        swap(&taken, &requests)
        return taken
    }
}
