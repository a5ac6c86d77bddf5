/// Pausing: a paused link may be settled, but its consumers are not notified (P1).
extension Link {
    /// Adds one pause.
    func pause() {
        if Recording.isOn { Recording.note(self, .init(kind: .paused)) }
        let coldState = ensureColdState()
        let word = lock()
        coldState.pauses += 1
        unlock(word | Word.paused)
    }

    /// Undoes one `pause()`, and after the last notifies the consumers. Reports a call for which there was
    /// none to undo.
    func unpause(_ site: DeferredDiagnostic.Location) {
        let recorded = Recording.begin(.unpausing, of: self)
        defer { Recording.end(recorded) }
        let word = lock()
        guard let coldState, coldState.pauses > 0 else {
            unlock(word)
            return DeferredDiagnostics.report(.unbalancedUnpause(made: made, at: site))
        }
        coldState.pauses -= 1
        if Recording.isOn { Recording.note(self, .init(kind: .unpaused)) }
        if coldState.pauses > 0 { return unlock(word) }
        // A pending link notifies nobody. A drain loop that has not noticed the pause continues.
        guard word & (Word.settled | Word.draining) == Word.settled, word & ~Word.flags != 0 else {
            return unlock(word & ~Word.paused)
        }
        Link.forEach(in: word) { $0.point(to: self) }
        resume(word)
    }

    /// Counts the link as unpaused, since the last handle that could unpause it was released. Called from
    /// `deinit`: another link with the same outcome notifies the consumers. If nothing handles the failure,
    /// that link reports it.
    func flushAfterPause() {
        let marks = state.marks.intersection(.handled)
        state.handle()
        let standIn = makeStandIn(LinkState(.settled, marks), payload.copy())
        standIn.resume(standIn.lock())
    }

    /// Continues to notify the consumers of a locked link after a pause, and unlocks it.
    private func resume(_ word: UInt) {
        let consumers = ConsumerQueue(takenFrom: word)
        var suspendedJobs = coldState?.suspendedJobs.takeAll() ?? []
        var loop = DrainLoop(coldState?.retainedScope.take())
        activeThread = loop.thread
        unlock(Word.settled | Word.draining)
        for job in suspendedJobs {
            job.setActiveThread(loop.thread)
            loop.jobs.append(job)
        }
        // They retain scopes, which end with the jobs.
        suspendedJobs = []
        loop.drain(self, consumers, after: 0, isOwned: false)
        loop.run()
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
        standIn.word.store(word, ordering: .relaxed)
        Link.forEach(in: word) { $0.point(to: standIn) }
        return standIn
    }
}

extension DrainLoop {
    /// Suspends the notification of a paused link's consumers. Returns false if it was unpaused in the
    /// meantime.
    @inline(never)
    mutating func suspend(
        _ link: borrowing Link, _ consumers: inout ConsumerQueue, _ wasPassedOn: Bool, _ mark: Int
    ) -> Bool {
        let later = jobs.removeAll(after: mark)
        for job in later { job.setActiveThread(0) }
        var word = link.lock()
        guard word & Word.paused != 0, let coldState = link.coldState else {
            link.unlock(word)
            for job in later {
                job.setActiveThread(thread)
                jobs.append(job)
            }
            return false
        }
        word = Link.prepend(consumers, to: word) & ~Word.draining
        // From here on the link may be released with its last handle, so nothing in its list may point to it.
        Link.forEach(in: word) { $0.point(to: nil) }
        // Without an upstream they can no longer find that the outcome is a cancellation, so they are marked here.
        if link.payload.isCancellation {
            Link.forEach(in: word) { consumer in
                consumer.locked { if consumer.phase == .waiting { consumer.state.interrupt() } }
            }
        }
        consumers = ConsumerQueue(takenFrom: 0)
        coldState.retainedScope = scope
        coldState.suspendedJobs = later
        if wasPassedOn { link.state.handle() }
        link.unlock(word)
        return true
    }
}

extension DrainLoop.Job {
    /// Stores the thread that is to notify the consumers of the link; 0 while a pause suspends that.
    fileprivate func setActiveThread(_ thread: UInt) {
        if case .drain(let link, _, _) = self { link.locked { link.activeThread = thread } }
    }
}
