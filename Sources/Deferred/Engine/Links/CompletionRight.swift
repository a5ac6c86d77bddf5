/// The right to complete a source that its handles may not complete, shared by the copies of a ``Deferred/Resolver``.
/// When the last copy is released, nothing is left that could complete the source, and it fails with
/// ``DeferredError/abandoned`` (A1).
@usableFromInline
final class CompletionRight: Sendable {
    let sourceReference: SourceReference

    /// Whether it was made for a canceller. Such a right to complete the source ends with the cancel, which
    /// settles the source in any case.
    let isCancellers: Bool

    /// The right to complete a new source.
    init(_ link: Link) {
        sourceReference = SourceReference(link)
        isCancellers = false
        // No other thread has a reference to a new source.
        link.sourceReference = sourceReference
    }

    /// The right that a canceller receives.
    init(forCanceller sourceReference: SourceReference) {
        self.sourceReference = sourceReference
        isCancellers = true
    }

    deinit {
        if !isCancellers { source?.abandon() }
    }

    /// The source, while it is pending.
    var source: Link? { sourceReference.source }

    /// Whether the source was cancelled (C2).
    var isCancelled: Bool { sourceReference.isCancelled }
}

/// The reference to a source that the rights to complete it share. It retains the source while that is
/// pending and one of them is left, and then knows whether a late result is to be reported.
///
/// The source retains this object. The thread that settles the source calls `noteSettled` in the critical section in
/// which that is decided. From then on only handles retain the source; and of all late results, from
/// whichever resolver or handle, one is dropped without a report after a cancel (C2).
///
/// Lock order: this object's lock is taken under the source's, never the other way round.
final class SourceReference: Sendable {
    private enum State {
        case pending(Link)
        /// No right is left, and the source, which is pending, follows something. That retains it: the source and this
        /// object would otherwise retain each other until it is settled.
        case released
        case settled(LateResult)
    }

    /// What a report of a late result needs, and whether there is to be one.
    private struct LateResult {
        let made: DeferredDiagnostic.Location
        let completionSite: DeferredDiagnostic.Location?
        let wasCancelled: Bool
        /// The next late result is dropped without a report (C2).
        var dropsNext: Bool
    }

    private let state: SpinLocked<State>

    init(_ link: Link) { state = SpinLocked(.pending(link)) }

    var source: Link? {
        state.withLock { if case .pending(let link) = $0 { link } else { nil } }
    }

    var isCancelled: Bool {
        if let source { return source.isCancelled }
        return state.withLock { if case .settled(let late) = $0 { late.wasCancelled } else { false } }
    }

    /// Notes that the source is settled, and returns the reference to it, which is to be released after the
    /// source's lock. Under that lock.
    func noteSettled(_ source: Link, completedAt site: DeferredDiagnostic.Location?) -> Link? {
        let late = LateResult(
            made: source.made, completionSite: site, wasCancelled: source.state.marks.contains(.wasCancelled),
            dropsNext: source.state.marks.contains(.wasCancelled))
        return state.withLock { state in
            defer { state = .settled(late) }
            return if case .pending(let link) = state { link } else { nil }
        }
    }

    /// Notes that no right is left to complete a source that is pending, and returns the reference to it, which is to
    /// be released after the source's lock. Under that lock.
    func noteReleased() -> Link? {
        state.withLock { state in
            guard case .pending(let link) = state else { return nil }
            state = .released
            return link
        }
    }

    /// Notes that there is a right again, that of a canceller, to complete a source that is pending. Under its lock.
    func noteRight(to source: Link) {
        state.withLock { if case .released = $0 { $0 = .pending(source) } }
    }

    /// Reports a late result, unless it is the one that is dropped (C2). Does nothing while pending.
    func reportLate(_ site: DeferredDiagnostic.Location) {
        let reported: LateResult? = state.withLock { state in
            guard case .settled(var late) = state else { return nil }
            guard late.dropsNext else { return late }
            late.dropsNext = false
            state = .settled(late)
            return nil
        }
        guard let reported else { return }
        DeferredDiagnostics.report(
            .alreadySettled(made: reported.made, settledFirst: reported.completionSite, again: site))
    }
}
