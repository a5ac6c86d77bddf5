/// Completing a source, and what its completion is prepared with.
extension Link {
    /// What completes a source: one of its handles, a Resolver, or its canceller's own Resolver, on whatever
    /// thread (C1).
    @usableFromInline
    enum Completer { case handle, resolver, canceller }

    /// Completes the source and runs its callbacks; returns whether this call completed it (F1, F2). Reports a
    /// handle that may not complete the link.
    @usableFromInline
    func complete(
        _ outcome: consuming Payload, _ site: DeferredDiagnostic.Location, by completer: Completer = .handle
    ) -> Bool {
        guard isCompletedByHandles || completer != .handle else {
            reportNotCompletable(site)
            return false
        }
        let recorded = Recording.isOn ? Recording.begin(.completing(at: site), of: self) : nil
        defer { if let recorded { Recording.end(recorded) } }
        let word = lock()
        guard phase == .source else {
            reportLate(word, site)
            return false
        }
        var loop = DrainLoop()
        completionSite = site
        if hasOnlyConsumers {
            // As `DrainLoop.finish`, without the queue, which costs more: the caller retains this source.
            let consumers = storeOutcome(word, outcome, on: loop.thread)
            if consumers.isEmpty { return true }
            loop.drain(self, consumers, after: 0, isOwned: false)
        } else {
            if completer == .canceller { coldState?.cancellerThread = loop.thread }
            loop.finish(self, word, outcome)
        }
        loop.run()
        return true
    }

    /// Reports a late result, or drops it (C2), and unlocks this settled source.
    @inline(never)
    private func reportLate(_ word: UInt, _ site: DeferredDiagnostic.Location) {
        let reference = sourceReference
        let isDropped = reference == nil && state.receiveLateResult() == .isDropped
        let first = completionSite
        unlock(word)
        if let reference { return reference.reportLate(site) }
        if !isDropped {
            DeferredDiagnostics.report(.alreadySettled(made: made, settledFirst: first, again: site))
        }
    }

    /// Has `body` called when this pending link is settled, also while it is paused. `body` is the library's own,
    /// and runs without a lock.
    func whenSettled(_ body: @escaping @Sendable () -> Void) {
        let coldState = ensureColdState()
        let isSettled = locked {
            if phase != .settled { coldState.whenSettled.append(body) }
            return phase == .settled
        }
        if isSettled { body() }
    }

    /// Whether the source was cancelled (C2).
    @usableFromInline
    var isCancelled: Bool { locked { state.marks.contains(.wasCancelled) } }
}

extension CompletionRight {
    /// Completes the source; see `Link.complete`.
    @usableFromInline
    func complete(_ outcome: consuming Payload, _ site: DeferredDiagnostic.Location) -> Bool {
        guard let source else {
            sourceReference.reportLate(site)
            return false
        }
        return source.complete(outcome, site, by: isCancellers ? .canceller : .resolver)
    }
}

extension Link {
    /// Sets the canceller of a new source.
    func setCanceller(
        isOnMainActor: Bool = false, _ canceller: @escaping @Sendable (CompletionRight) -> Void
    ) {
        let canceller = DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(canceller) : canceller
        let coldState = ensureColdState()
        coldState.canceller = canceller
        coldState.cancellerIsOnMainActor = isOnMainActor
    }

    /// Sets the closure that says whether the work of a new source has yet to begin.
    func setIsWaiting(_ isWaiting: @escaping @Sendable () -> Bool) { ensureColdState().isWaiting = isWaiting }
}
