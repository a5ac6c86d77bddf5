/// Pausing: a paused link may be settled, but its consumers are not notified (P1).
extension Link {
    /// Adds one pause.
    @usableFromInline
    func pause() {
        if Recording.isOn { Recording.paused(self) }
        let coldState = ensureColdState()
        let word = lock()
        coldState.pauses += 1
        unlock(word | Word.paused)
    }

    /// Undoes one `pause()`, and after the last notifies the consumers. Reports a call for which there was
    /// none to undo.
    @usableFromInline
    func unpause(_ site: DeferredDiagnostic.Location) {
        let recorded = Recording.begin(.unpausing, of: self)
        defer { Recording.end(recorded) }
        let word = lock()
        guard let coldState, coldState.pauses > 0 else {
            unlock(word)
            return DeferredDiagnostics.report(.unbalancedUnpause(made: made, at: site))
        }
        coldState.pauses -= 1
        if Recording.isOn { Recording.unpaused(self) }
        if coldState.pauses > 0 { return unlock(word) }
        // Not settled yet, so there is nobody to notify; or the drain loop has not noticed the pause and just
        // continues.
        guard word & (Word.settled | Word.draining) == Word.settled, word & ~Word.flags != 0 else {
            return unlock(word & ~Word.paused)
        }
        Link.forEach(in: word) { $0.point(to: self) }
        let consumers = ConsumerQueue(takenFrom: word)
        let scope = coldState.retainedScope.take()
        let suspendedJobs = coldState.suspendedJobs.takeAll()
        var loop = DrainLoop()
        activeThread = loop.thread
        unlock(Word.settled | Word.draining)
        loop.resume(self, consumers, consume scope, consume suspendedJobs)
    }

    /// Counts the link as unpaused, since the last handle that could unpause it was released. Called from
    /// `deinit`: another link with the same outcome notifies the consumers.
    func flushAfterPause() {
        let standIn = Link(.bypassed, payload.copy(), made)
        standIn.state = LinkState(.settled, state.marks.intersection(.handled))
        Link.forEach(in: word.load(ordering: .relaxed)) { $0.point(to: standIn) }
        let consumers = ConsumerQueue(takenFrom: word.load(ordering: .relaxed))
        word.store(Word.settled, ordering: .relaxed)
        standIn.word.store(Word.settled | Word.draining, ordering: .relaxed)
        // If nothing handles the failure, the other link reports it.
        state.handle()
        let suspendedJobs = coldState?.suspendedJobs.takeAll() ?? []
        var loop = DrainLoop()
        standIn.activeThread = loop.thread
        loop.resume(standIn, consumers, coldState?.retainedScope.take(), consume suspendedJobs)
    }
}

extension DrainLoop {
    /// Continues to notify the consumers of `link` after a pause. The caller has made it `draining`.
    mutating func resume(
        _ link: Link, _ consumers: consuming ConsumerQueue, _ scope: consuming FinalizerScope?,
        _ suspendedJobs: consuming [Job]
    ) {
        for job in suspendedJobs {
            job.setActiveThread(thread)
            enqueue(job)
        }
        // They retain scopes, which end with the jobs.
        suspendedJobs = []
        self.scope = consume scope
        drain(link, consumers, 0, isOwned: false)
        run()
    }

    /// Suspends the notification of a paused link's consumers. Returns false if it was unpaused in the
    /// meantime.
    @inline(never)
    mutating func suspend(
        _ link: borrowing Link, _ consumers: inout ConsumerQueue, _ wasPassedOn: Bool, _ mark: Int
    ) -> Bool {
        if let (link, consumers) = next.take() { enqueue(.drain(link, consumers, nil)) }
        let later = others?.removeAll(after: mark) ?? []
        for job in later { job.setActiveThread(0) }
        var word = link.lock()
        guard word & Word.paused != 0, let coldState = link.coldState else {
            link.unlock(word)
            for job in later {
                job.setActiveThread(thread)
                enqueue(job)
            }
            return false
        }
        word = Link.prepend(consumers, to: word) & ~Word.draining
        // From here on the link may be released with its last handle, so nothing in its list may point to it.
        Link.forEach(in: word) { $0.point(to: nil) }
        // Nor can they see from now on that they are being cancelled.
        if link.payload.error is CancellationError {
            Link.forEach(in: word) { consumer in
                consumer.locked { if consumer.phase == .waiting { consumer.state.interrupt() } }
            }
        }
        consumers = .empty
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
