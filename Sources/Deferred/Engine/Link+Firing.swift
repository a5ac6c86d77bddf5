/// Sources: how they are fired by hand, and what becomes of them when nobody is left to do it.
extension Link {
    /// Fires the source, runs its callbacks, and says whether this call fired it (F1, F2).
    @usableFromInline
    func fire(_ outcome: consuming Content, _ site: DeferredDiagnostic.Location) -> Bool {
        if Recording.isOn { return fireRecorded(outcome, site) }
        return fireNow(outcome, site)
    }

    @inline(never)
    private func fireRecorded(_ outcome: consuming Content, _ site: DeferredDiagnostic.Location) -> Bool {
        var outcome = outcome
        return Recording.during(.firing(at: site), of: self) {
            var taken = Content.none
            swap(&taken, &outcome)
            return fireNow(taken, site)
        }
    }

    @inline(__always)
    private func fireNow(_ outcome: consuming Content, _ site: DeferredDiagnostic.Location) -> Bool {
        let word = lock()
        guard phase == .source else {
            let isAbsorbed = flags.remove(.absorbsLateResult) != nil
            let first = fired
            unlock(word)
            if !isAbsorbed {
                DeferredDiagnostics.report(.alreadyFired(made: made, firedFirst: first, again: site))
            }
            return false
        }
        let claim = takeClaim()
        let flags = flags
        fired = site
        var frame = Frame()
        frame.finish(self, word, outcome)
        claim?.end(self, flags, fired: site)
        frame.run()
        return true
    }

    /// Whether the source was cancelled (C2).
    @usableFromInline
    var isCancelled: Bool { locked { flags.contains(.cancelled) } }

    /// The last producer has gone.
    func abandon() {
        let word = lock()
        // A cancel that is under way settles it; what it follows still may.
        let isFollowing = rare.map { !$0.following.isEmpty } ?? false
        guard phase == .source, !flags.contains(.cancelled), !isFollowing else { return unlock(word) }
        flags.insert(.handled)
        var frame = Frame()
        frame.finish(self, word, .failure(DeferredError.abandoned))
        frame.run()
    }

    /// The last handle of a pending source has gone. Called from `deinit`: a stand-in fails in its place.
    func abandonAtEnd() {
        let standIn = Link(.bypassed, .none, made)
        standIn.phase = .source
        if Recording.isOn { standIn.take(number: numbered()) }
        standIn.rare = rare.take()
        // Whoever could unpause it has gone too (P1).
        standIn.word.store(word.load(ordering: .relaxed) & ~Word.flags, ordering: .relaxed)
        word.store(0, ordering: .relaxed)
        standIn.abandon()
    }
}
