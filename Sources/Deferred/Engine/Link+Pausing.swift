/// Pausing: a paused link may fire, but nobody attached to it is told (P1).
extension Link {
    @usableFromInline
    func pause() {
        if Recording.isOn { Recording.paused(self) }
        let rare = ensureRare()
        let word = lock()
        rare.pauses += 1
        unlock(word | Word.paused)
    }

    /// Undoes one `pause()`, and after the last tells those who were held. False if there was none to undo.
    @usableFromInline
    func unpause() -> Bool {
        if Recording.isOn { return Recording.during(.unpausing, of: self) { unpauseNow() } }
        return unpauseNow()
    }

    private func unpauseNow() -> Bool {
        let word = lock()
        guard let rare, rare.pauses > 0 else {
            unlock(word)
            return false
        }
        rare.pauses -= 1
        if Recording.isOn { Recording.unpaused(self) }
        guard rare.pauses == 0 else {
            unlock(word)
            return true
        }
        // Nothing to tell yet, or the frame that tells has not stopped for the pause: it just goes on.
        guard word & (Word.settled | Word.busy) == Word.settled, word & ~Word.flags != 0 else {
            unlock(word & ~Word.paused)
            return true
        }
        let batch = Batch(takenFrom: word)
        let scope = rare.heldScope.take()
        var heldBack: [Frame.Task] = []
        swap(&heldBack, &rare.heldBack)
        var frame = Frame()
        teller = frame.thread
        unlock(Word.settled | Word.busy)
        frame.resume(self, batch, consume scope, heldBack)
        return true
    }

    /// The last handle that could unpause this link has gone, so it counts as unpaused. Called from `deinit`:
    /// a stand-in with the same outcome tells those who were held.
    func flushAfterPause() {
        let standIn = Link(.bypassed, content.copy(), made)
        standIn.phase = .settled
        let batch = Batch(takenFrom: word.load(ordering: .relaxed))
        word.store(Word.settled, ordering: .relaxed)
        standIn.word.store(Word.settled | Word.busy, ordering: .relaxed)
        if flags.contains(.handled) { standIn.flags.insert(.handled) }
        // A failure that nobody handles is the stand-in's to report.
        flags.insert(.handled)
        var frame = Frame()
        standIn.teller = frame.thread
        frame.resume(standIn, batch, rare?.heldScope.take(), rare?.heldBack ?? [])
    }
}
