/// The right to complete a source that its handles may not complete, shared by the copies of a ``Resolver``.
/// When the last copy is released, nothing is left that could complete the source, and it fails with
/// ``DeferredError/abandoned`` (A1).
@usableFromInline
final class Producer: Sendable {
    private let sourceReference: SourceReference

    /// Whether it was made for a canceller. Such a right to complete the source ends with the cancel, which
    /// settles the source in any case.
    private let isCancellers: Bool

    /// The producer of a new source.
    @usableFromInline
    init(_ link: Link) {
        sourceReference = SourceReference(link)
        isCancellers = false
        // No other thread has a reference to a new source.
        link.sourceReference = sourceReference
    }

    /// The producer that a canceller receives.
    init(forCanceller sourceReference: SourceReference) {
        self.sourceReference = sourceReference
        isCancellers = true
    }

    deinit {
        if !isCancellers { source?.abandon() }
    }

    /// The source, while it is pending.
    @usableFromInline
    var source: Link? { sourceReference.source }

    /// Whether the source was cancelled (C2).
    @usableFromInline
    var isCancelled: Bool { sourceReference.isCancelled }

    /// Completes the source; see `Link.complete`.
    @usableFromInline
    func complete(_ outcome: consuming Link.Payload, _ site: DeferredDiagnostic.Location) -> Bool {
        guard let source else {
            sourceReference.reportLate(site)
            return false
        }
        return source.complete(outcome, site, byCanceller: isCancellers)
    }
}

/// The reference to a source that its producers share. It retains the source while that is pending, and then
/// knows whether a late result is to be reported.
///
/// The source retains this object. The thread that settles the source calls `end` in the critical section in
/// which that is decided. From then on only handles retain the source; and of all late results, from whichever
/// resolver or handle, one is dropped without a report after a cancel (C2).
///
/// Lock order: this object's lock is taken under the source's, never the other way round.
final class SourceReference: Sendable {
    private enum State {
        case pending(Link)
        case settled(Late)
    }

    /// What a report of a late result needs, and whether there is to be one.
    private struct Late {
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
    func end(_ source: Link, completedAt site: DeferredDiagnostic.Location?) -> Link? {
        let late = Late(
            made: source.made, completionSite: site, wasCancelled: source.flags.contains(.cancelled),
            dropsNext: source.flags.contains(.dropsLateResult))
        return state.withLock { state in
            guard case .pending(let link) = state else { return nil }
            state = .settled(late)
            return link
        }
    }

    /// Returns whether a late result is dropped without a report (C2): true once.
    func dropsLateResult() -> Bool { takeLate()?.dropsNext ?? false }

    func reportLate(_ site: DeferredDiagnostic.Location) {
        guard let late = takeLate(), !late.dropsNext else { return }
        DeferredDiagnostics.report(
            .alreadyFired(made: late.made, firedFirst: late.completionSite, again: site))
    }

    /// Takes what the next late result needs; the one after it is reported in any case. `nil` while pending.
    private func takeLate() -> Late? {
        state.withLock { state in
            guard case .settled(let late) = state else { return nil }
            if late.dropsNext {
                var next = late
                next.dropsNext = false
                state = .settled(next)
            }
            return late
        }
    }
}

extension Link {
    /// Whether a late result is the one to be dropped without a report (C2). Under the lock of this settled
    /// source.
    func dropsThisLateResult() -> Bool {
        if let sourceReference { return sourceReference.dropsLateResult() }
        return flags.remove(.dropsLateResult) != nil
    }
}

extension Link {
    /// Sets the canceller of a new source.
    @usableFromInline
    func setCanceller(_ canceller: @escaping @Sendable (Producer) -> Void) {
        ensureColdState().canceller = canceller
    }

    /// Sets the closure that says whether the work of a new source has yet to begin.
    func setIsWaiting(_ isWaiting: @escaping @Sendable () -> Bool) { ensureColdState().isWaiting = isWaiting }
}
