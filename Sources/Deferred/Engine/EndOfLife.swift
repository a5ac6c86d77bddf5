/// What the end of a link, or of the last right to complete it, leads to.
extension Link {
    // MARK: Abandonment: a pending source that nothing can complete any more fails (A1)

    /// Abandons the source whose last ``CompletionRight`` was released, unless something else settles it.
    func abandon() {
        let word = lock()
        switch state.abandon(isFollowing: isFollowing) {
        case .isIgnored: unlock(word)
        case .belongsToWhatItFollows:
            let released = sourceReference?.noteReleased()
            unlock(word)
            withExtendedLifetime(released) {}
        case .fails:
            activeThread = Platform.currentThread
            unlock(word)
            NestedWork.run(.abandonment(of: self))
        }
    }

    /// Abandons the pending source whose last handle was released. Called from `deinit`: another link fails
    /// in its place.
    func abandonAtEnd() {
        let standIn = makeStandIn(LinkState(.running, .handled), .none)
        standIn.activeThread = Platform.currentThread
        NestedWork.run(.abandonment(of: standIn))
    }

    // MARK: Paused links

    /// Counts the link as unpaused, since the last handle that could unpause it was released. Called from
    /// `deinit`: another link with the same outcome notifies the consumers. If nothing handles the failure,
    /// that link reports it.
    func flushAfterPause() {
        let marks = state.marks.intersection(.handled)
        state.handle()
        let standIn = makeStandIn(LinkState(.settled, marks), payload.copy())
        standIn.resume(standIn.lock())
    }

    /// Returns a link that takes the place of this one, which is being deallocated: with its consumers, and
    /// what else depends on it.
    ///
    /// The consumers point to this one, without a reference. They are made to point to the other under their
    /// own locks, under which alone such a pointer is read, so that none outlives this link.
    func makeStandIn(_ state: LinkState, _ outcome: consuming Payload) -> Link {
        let standIn = Link(.bypassed, outcome, made)
        if Recording.isOn { standIn.take(number: numbered()) }
        standIn.state = state
        standIn.coldState = coldState.take()
        // Its handles, which could unpause it, were released too (P1).
        let word = word.load(ordering: .relaxed) & ~Word.paused
        self.word.store(word & Word.flags, ordering: .relaxed)
        // Locked, so that none of them is removed from the list meanwhile.
        _ = standIn.lock()
        Link.forEach(in: word) { $0.point(to: standIn) }
        standIn.unlock(word)
        return standIn
    }
}
