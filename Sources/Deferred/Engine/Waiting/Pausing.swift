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
        resume(word)
    }

    /// Counts the pending link that this one waits for as unpaused if it has no handle, which alone could unpause it (P1).
    /// Returns whether it did.
    ///
    /// Sound: under this link's lock the memory of what it waits for is valid (``Upstream``). What settles that retains
    /// it; where there is no further reference, no other thread has one.
    ///
    /// - Parameter upstream: The caller's reference.
    func unpausesUpstreamWithoutHandle(_ upstream: consuming Link) -> Bool {
        _ = consume upstream
        guard locked({ phase == .waiting && self.upstream.isUniquelyReferenced }), let upstream = waitedFor
        else { return false }
        let word = upstream.lock()
        upstream.coldState?.pauses = 0
        upstream.unlock(word & ~Word.paused)
        return true
    }

    /// Continues to notify the consumers of a locked link after a pause, and unlocks it. Then continues with the work
    /// that was suspended with them, unless a further pause suspends the rest.
    func resume(_ word: UInt) {
        var loop = DrainLoop(coldState?.retainedScope.take())
        activeThread = loop.thread
        unlock(word & ~Word.paused | Word.draining)
        // A cancel may have removed the last consumer since the unlock: the link is then idle, and not this loop's to drain.
        let consumers = takeListOrBecomeIdle(false)
        if !consumers.isEmpty { loop.drain(self, consumers, after: 0, isOwned: false) }
        let suspended = locked {
            let isIdle = self.word.load(ordering: .relaxed) & ~Word.flags == 0
            return isIdle ? coldState?.suspendedJobs?.jobs.takeAll() ?? [] : []
        }
        if !suspended.isEmpty { loop.prepend(suspended) }
        loop.run()
    }
}

extension DrainLoop {
    /// Suspends the notification of a paused link's consumers, and what has followed from it so far. Returns false if
    /// it was unpaused in the meantime.
    ///
    /// All that is suspended is in the lists of links, where a cancel finds it. From the first time on, each consumer
    /// points to the link as to one that may be in its `deinit`, and is taken from the list one at a time: so n
    /// callbacks that each pause take time linear in n.
    @inline(never)
    mutating func suspend(
        _ link: Link, _ consumers: inout ConsumerQueue, _ wasPassedOn: Bool, _ earlier: Int
    ) -> Bool {
        let later = jobs.removeAll(after: earlier)
        for job in later { job.suspend() }
        // Keeps the list from being empty while work is suspended.
        let holder = later.isEmpty ? nil : Link(.waiting, .noOp, link.made.of(.hidden))
        holder?.set(Link.Flags.onlyObserves)
        var word = link.lock()
        guard word & Word.paused != 0, let coldState = link.coldState else {
            link.unlock(word)
            for job in later { jobs.append(job.resumed(on: thread)) }
            return false
        }
        word = Link.prepend(consumers, to: word) & ~Word.draining
        consumers = ConsumerQueue(takenFrom: 0)
        if !coldState.isDrainedOneByOne {
            coldState.suspendedWork = SuspendedJobs()
            Link.forEach(in: word) { $0.point(toSuspended: link) }
        }
        if let holder {
            holder.upstream = Upstream(suspended: link)
            word = Link.append(holder, to: word)
        }
        var interrupted = ConsumerQueue(takenFrom: 0)
        if link.mayHaveInterruptedConsumers { interrupted = Link.removeInterrupted(from: &word) }
        // If none is left that waits for the end of the pause, finalizers do not wait for it either (Z1).
        coldState.retainedScope = word & ~Word.flags == 0 ? nil : scope
        coldState.suspendedJobs?.jobs.append(contentsOf: later)
        if wasPassedOn { link.state.handle() }
        link.unlock(word)
        // What comes of a cancel has arrived here, and will be no sooner further down than the pause ends. (Not before the
        // consumers are in the list again: the roots of the cancel are found from there.)
        if link.isPassed, !link.payload.isCancellation { noteAnswer(at: link) }
        // Cancelled before the pause took hold: they do not wait for its end (P1). A failure would have been theirs (U1).
        var isHandled = false
        while let consumer = interrupted.removeFirst() {
            if deliver(link.payload, to: consumer) { isHandled = true }
        }
        if isHandled { link.disownFailure() }
        return true
    }

    /// Enqueues suspended jobs before those that are in the queue.
    fileprivate mutating func prepend(_ suspended: [Job]) {
        let later = jobs.removeAll(after: 0)
        for job in suspended { jobs.append(job.resumed(on: thread)) }
        for job in later { jobs.append(job) }
    }
}

extension DrainLoop.Job {
    /// Puts the consumers that are to be notified back into the list of their link, whose draining no thread continues
    /// until the job is resumed.
    fileprivate func suspend() {
        guard case .drain(let link, let consumers, let scope) = self else { return }
        let coldState = scope.map { _ in link.ensureColdState() }
        let word = link.lock()
        coldState?.retainedScope = scope
        link.activeThread = 0
        link.unlock(Link.prepend(consumers, to: word))
    }

    /// The job with the consumers taken out of the list again, for `thread` to notify.
    fileprivate func resumed(on thread: UInt) -> DrainLoop.Job {
        guard case .drain(let link, _, let scope) = self else { return self }
        let word = link.lock()
        // Not the last reference.
        link.coldState?.retainedScope = nil
        link.activeThread = thread
        let consumers = ConsumerQueue(takenFrom: word)
        link.unlock(word & Word.flags)
        return .drain(link, consumers, scope)
    }
}

/// The jobs of a loop that a pause has suspended. Under the lock of the link that is paused.
private final class SuspendedJobs: SuspendedWork {
    var jobs: [DrainLoop.Job] = []
}

extension ColdState {
    /// Sound: there is no other kind of suspended work.
    fileprivate var suspendedJobs: SuspendedJobs? {
        suspendedWork.map { unsafeDowncast($0, to: SuspendedJobs.self) }
    }
}
