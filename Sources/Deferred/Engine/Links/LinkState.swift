/// What a link is as the consumer of another, as a source, and of a cancel: one value, which only the
/// transitions below change, once others know of the link. (What it is as the upstream of others is in its `word`: see
/// ``Word``.)
///
/// A transition is a pure function: it decides, from the state and the facts that it receives, what the link
/// is from now on, and returns what there is to do. The caller has the link's lock; it unlocks, and does
/// that. `targets` says what each event leads to in each phase. A test compares it with
/// Documentation/Engine.md, and with what the transitions do.
struct LinkState: Equatable, Sendable {
    enum Phase: UInt8, CaseIterable, Sendable {
        /// Completed explicitly, by a list, or by the links that it follows.
        case source
        /// In its upstream's list, or taken from it by a drain loop that has not notified it yet.
        case waiting
        /// A cancel has taken it out of its upstream's list, and the thread of that is about to run its step with
        /// `CancellationError`.
        case failing
        /// Its step was submitted to a dispatcher that has not begun it.
        case dispatched
        /// Its step runs, or a thread is about to run or settle it.
        case running
        /// It has its outcome.
        case settled
        /// It had no other references when it began to wait for another link, and its consumer now waits for
        /// that one (L6).
        case bypassed
    }

    struct Marks: OptionSet, Sendable {
        let rawValue: UInt8

        /// It waits, and receives `CancellationError` in place of an outcome.
        static let interrupted = Marks(rawValue: 1)
        /// It is the root of a cancel, and receives `CancellationError` in place of an outcome while its
        /// ``Protection`` is open.
        static let protected = Marks(rawValue: 1 << 1)
        /// It was `protected` when it was dequeued or detached. The outcome of such a follower answers the
        /// cancel.
        static let wasProtected = Marks(rawValue: 1 << 2)
        /// A source that is being cancelled: a cancel has come up to it, and has neither settled it nor been answered.
        static let cancelled = Marks(rawValue: 1 << 3)
        /// A source that was cancelled while it was pending (`Resolver.isCancelled`), also if that was answered: the
        /// first late result is dropped without a report (C2).
        static let wasCancelled = Marks(rawValue: 1 << 4)
        /// A source whose canceller runs, or is about to: cancelling it again from inside does nothing (C1).
        static let cancellerRuns = Marks(rawValue: 1 << 5)
        /// A source that does not pass its cancel on to what it follows.
        static let shielded = Marks(rawValue: 1 << 6)
        /// Its failure was handled, or is not to be reported (U1).
        static let handled = Marks(rawValue: 1 << 7)
    }

    private(set) var phase: Phase
    private(set) var marks: Marks

    init(_ phase: Phase, _ marks: Marks = []) {
        self.phase = phase
        self.marks = marks
    }

    // MARK: Waiting, running, settling

    /// A drain loop dequeues the link, its dispatcher begins its step, or the thread that has detached it does.
    /// This thread owns the step from here on.
    @inline(__always)
    mutating func run() -> Run {
        move(to: .running, on: .run)
        return marks.isDisjoint(with: [.interrupted, .protected]) ? .withOutcome : .mayBeInterrupted
    }

    enum Run {
        case withOutcome
        /// A cancel may have come before the outcome: `takeInterruption` is to follow, unless the link was failing.
        case mayBeInterrupted
    }

    /// Returns whether the step runs with `CancellationError`: if interrupted; if protected, and this thread
    /// is the one that ends the link's ``Protection``.
    mutating func takeInterruption() -> (isInterrupted: Bool, isProtected: Bool) {
        let isProtected = marks.remove(.protected) != nil
        if isProtected { marks.insert(.wasProtected) }
        return (marks.remove(.interrupted) != nil, isProtected)
    }

    /// Returns the state of the link once its outcome is stored. Not in place, as the other transitions are:
    /// for such a change of a link's property ThreadSanitizer notes a write at the beginning of the object,
    /// and reports it beside any read of that.
    func settled() -> LinkState {
        var state = self
        state.move(to: .settled, on: .settle)
        return state
    }

    /// The step has returned a link to wait for.
    mutating func wait() { move(to: .waiting, on: .wait) }

    /// The consumer waits in the place of this link (L6).
    mutating func bypass() { move(to: .bypassed, on: .bypass) }

    /// The step is submitted to a dispatcher: with a cancellation, or with one in place of its outcome if requests
    /// were left in the link, which then end.
    mutating func dispatch(isCancelled: Bool) {
        move(to: .dispatched, on: .dispatch)
        if isCancelled { marks.insert(.interrupted) }
    }

    /// A failure belongs to what has received it from here on, or is not to be reported (U1).
    mutating func handle() { marks.insert(.handled) }

    private mutating func move(to next: Phase, on event: Event) {
        assert(Self.targets(of: event, in: phase)?.contains(next) ?? false, "\(event) in \(phase)")
        phase = next
    }

    // MARK: Sources

    enum Following {
        /// It is settled.
        case isLate
        case follows
        /// The source is being cancelled, and the follower is to be cancelled as well. (The thread that runs a canceller
        /// cancels all followers after it.)
        case followsToCancel
    }

    /// A pending source follows another link, or a running one becomes a source that does.
    mutating func follow(from phase: Phase) -> Following {
        guard self.phase == phase else { return .isLate }
        move(to: .source, on: .follow)
        return marks.contains(.cancelled) && !marks.contains(.cancellerRuns) ? .followsToCancel : .follows
    }

    enum Abandonment {
        /// This thread fails the source.
        case fails
        /// What the source follows may settle it, and is to be all that retains it: there is no right that was made for a
        /// canceller.
        case belongsToWhatItFollows
        /// Something else settles it, or has.
        case isIgnored
    }

    /// The last reference that could complete a source was released (A1).
    mutating func abandon(isFollowing: Bool) -> Abandonment {
        guard phase == .source else { return .isIgnored }
        if marks.contains(.cancelled) || isFollowing {
            let rights: Marks = [.cancelled, .wasCancelled, .cancellerRuns]
            return marks.isDisjoint(with: rights) ? .belongsToWhatItFollows : .isIgnored
        }
        move(to: .running, on: .abandon)
        marks.insert(.handled)
        return .fails
    }

    enum LateResult {
        case isReported
        /// It is the one that is dropped without a report (C2).
        case isDropped
    }

    mutating func receiveLateResult() -> LateResult {
        marks.remove(.wasCancelled) == nil ? .isReported : .isDropped
    }

    // MARK: Cancelling

    /// Interrupts a link that is yet to be dequeued, or to be run by its dispatcher.
    mutating func interrupt() { marks.insert(.interrupted) }

    /// Whether the link is to receive `CancellationError` in place of an outcome.
    func isInterrupted(isProtectionOpen: Bool) -> Bool {
        marks.contains(.interrupted) || marks.contains(.protected) && isProtectionOpen
    }

    /// Protects the root of a request from other outcomes, before the request is left somewhere. Returns
    /// `nil` if there is nothing left to do, as the root is settled or is being cancelled; otherwise whether
    /// the root needs a new ``Protection``: a source does not, nor what only receives the outcome for a
    /// list.
    mutating func protect(isProtectionOpen: Bool, receivesOutcome: Bool) -> Bool? {
        switch phase {
        case .settled, .bypassed: return nil
        case .source: return false
        case .waiting, .failing, .running, .dispatched:
            if receivesOutcome { return false }
            if isInterrupted(isProtectionOpen: isProtectionOpen) { return nil }
            marks.insert(.protected)
            return true
        }
    }

    /// The cancel that had this follower as its root was answered. Returns false if the follower is no such root, or
    /// its outcome is on its way.
    mutating func unprotect() -> Bool {
        phase == .waiting && marks.remove(.protected) != nil
    }

    /// The cancel that came up to this source was answered further up.
    mutating func endCancel() { marks.remove(.cancelled) }

    /// A cancel has removed the link from its upstream's list. Returns false if another thread has the step.
    mutating func fail() -> Bool {
        guard phase == .waiting else { return false }
        move(to: .failing, on: .fail)
        if marks.contains(.protected) { marks.insert(.wasProtected) }
        return true
    }

    /// What a cancel does with a pending source.
    enum SourceCancel {
        /// Fails it; that of a list ends with its list.
        case fail
        /// Stays in it, and runs its canceller.
        case claimCanceller
        /// Stays in it while the canceller runs.
        case stay
        /// Stays in it, and begins a request for each link by which the source follows another.
        case cancelFollowed
        /// Protects its root first, and begins again.
        case protectRoot
    }

    /// - Parameter mayStay: Whether the request may be left in the source: its root is protected, or is the
    ///   source itself.
    mutating func cancelSource(
        hasList: Bool, hasCanceller: Bool, isFollowing: Bool, mayStay: Bool
    ) -> SourceCancel {
        assert(phase == .source)
        let action: SourceCancel
        if hasList {
            action = .fail
        } else if marks.contains(.cancellerRuns) {
            action = .stay
        } else if hasCanceller {
            action = .claimCanceller
        } else {
            action = isFollowing && !marks.contains(.shielded) ? .cancelFollowed : .fail
        }
        if !mayStay, action != .fail { return .protectRoot }
        marks.formUnion([.cancelled, .wasCancelled])
        if action == .claimCanceller { marks.insert(.cancellerRuns) }
        return action
    }

    /// The canceller has returned. Returns `nil` if it has completed the source.
    mutating func endCanceller(isFollowing: Bool) -> SourceCancel? {
        guard phase == .source else { return nil }
        marks.remove(.cancellerRuns)
        return isFollowing && !marks.contains(.shielded) ? .cancelFollowed : .fail
    }

    /// Whether a source is being cancelled, and what it follows is to be cancelled as well, unless its canceller answers
    /// (C7).
    var passesCancelOn: Bool { marks.contains(.cancelled) && !marks.contains(.shielded) }

    // MARK: The table

    /// What changes the phase.
    enum Event: String, CaseIterable, Sendable {
        case run, wait, bypass, dispatch, fail, follow, abandon, settle
    }

    /// The phases that an event may lead to in a phase: none if it is ignored there, `nil` if it cannot
    /// happen.
    static func targets(of event: Event, in phase: Phase) -> [Phase]? {
        switch (event, phase) {
        case (.run, .waiting), (.run, .failing), (.run, .dispatched): [.running]
        case (.wait, .running): [.waiting]
        case (.bypass, .running), (.bypass, .waiting): [.bypassed]
        case (.dispatch, .running): [.dispatched]
        case (.fail, .waiting): [.failing]
        case (.follow, .running), (.follow, .source): [.source]
        case (.abandon, .source): [.running]
        case (.settle, .source), (.settle, .running): [.settled]
        // Another thread was first.
        case (.fail, .failing), (.fail, .running), (.fail, .dispatched), (.fail, .settled): []
        case (.follow, .settled), (.abandon, .running), (.abandon, .settled): []
        default: nil
        }
    }
}
