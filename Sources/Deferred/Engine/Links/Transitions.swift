/// What is decided about one link, under its lock, and what may be asked of it alone.
extension Link {
    /// Makes a waiting or dispatched link `running`, on this thread, which then owns its step. Returns
    /// whether that receives `CancellationError` in place of the outcome. Under the lock.
    @inline(__always)
    func begin(on thread: UInt) -> Bool {
        activeThread = thread
        upstream = .none
        return state.run() == .mayBeInterrupted && endsProtection()
    }

    /// Replaces the payload, under the lock, and returns what it was. (A function of the link: ThreadSanitizer
    /// takes a mutating call on `link.payload` for a write to what reads the link's type, too.)
    @inline(__always)
    func exchangePayload(with new: consuming Payload) -> Payload {
        swap(&payload, &new)
        return new
    }

    @inline(never)
    private func endsProtection() -> Bool {
        let (isInterrupted, isProtected) = state.takeInterruption()
        let isEnded = isProtected && coldState?.protection?.close() ?? false
        return isInterrupted || isEnded
    }

    /// Whether nothing but the outcome and the list matters when this link is settled. Under the lock.
    var hasOnlyConsumers: Bool { coldState == nil && sourceReference == nil && !Recording.isOn }

    /// Stores the outcome of this locked link, unlocks it, and returns its consumers, which `thread` is to
    /// notify.
    @inline(__always)
    func storeOutcome(_ word: UInt, _ outcome: consuming Payload, on thread: UInt) -> ConsumerQueue {
        payload = outcome
        state = state.settled()
        activeThread = thread
        let consumers = ConsumerQueue(takenFrom: word)
        unlock(Word.settled | (word & Word.paused) | (consumers.isEmpty ? 0 : Word.draining))
        return consumers
    }

    /// Settles a locked link at the end of a chain, that of a list or of a Task that awaits, and returns its
    /// step. It has no consumers and no cold state, and its failure belongs to the list or the Task (D3).
    @inline(__always)
    func settleAtEnd(_ word: UInt, with outcome: consuming Payload) -> Payload {
        assert(word & ~Word.flags == 0 && coldState == nil)
        if payload.kind == .awaiting, Recording.isOn { Recording.settled(self, .value(())) }
        let step = exchangePayload(with: outcome)
        var settled = state.settled()
        settled.handle()
        state = settled
        unlock(word | Word.settled)
        return step
    }

    /// Takes the consumers attached since the drain loop took the list. If there are none, the link becomes
    /// idle.
    @inline(__always)
    func takeListOrBecomeIdle(_ wasPassedOn: Bool) -> ConsumerQueue {
        let word = lock()
        if wasPassedOn { state.handle() }
        if word & ~Word.flags != 0, coldState?.isDrainedOneByOne == true { return takeFirst(word) }
        let consumers = ConsumerQueue(takenFrom: word)
        unlock(consumers.isEmpty ? word & ~Word.draining : word & Word.flags)
        return consumers
    }

    // MARK: Cancels

    var isProtectionOpen: Bool { coldState?.protection?.isOpen ?? false }

    /// Whether this link is the root of a cancel that has neither taken effect nor been answered. Under the lock.
    var isProtected: Bool { state.marks.contains(.protected) && isProtectionOpen }

    /// Whether this link is to receive `CancellationError` in place of an outcome. Under the lock.
    var isInterrupted: Bool { state.isInterrupted(isProtectionOpen: isProtectionOpen) }

    /// A failure with `error`, or with `CancellationError` if this link was cancelled (C5). Under the lock.
    func failure(_ error: DeferredError) -> Payload {
        let hasRequests = coldState.map { !$0.requests.isEmpty } ?? false
        let wasCancelled = isInterrupted || hasRequests || state.marks.contains(.cancelled)
        return .failure(wasCancelled ? CancellationError() : error)
    }

    /// Whether this source follows others. Under the lock.
    var isFollowing: Bool { coldState.map { !$0.following.isEmpty } ?? false }

    // MARK: Suspended by a pause

    /// Whether this settled link has consumers and no thread notifies them: they are in its list, and a cancel removes
    /// them from there at once (P1). Under the lock.
    var isSuspended: Bool {
        let word = word.load(ordering: .relaxed)
        if word & Word.settled == 0 { return false }
        return word & Word.draining == 0 ? word & ~Word.flags != 0 : activeThread == 0
    }

    /// Returns the scope of the consumers that a pause of this link suspends, for one that was removed from its list:
    /// what finalizers wait for (Z1). With the last one it ends here.
    func scopeOfSuspended() -> FinalizerScope? {
        guard isSettled else { return nil }
        return locked {
            let isLast = word.load(ordering: .relaxed) & ~Word.flags == 0
            return isLast ? coldState?.retainedScope.take() : coldState?.retainedScope
        }
    }

    /// What a consumer points to that is appended to the list of this locked, settled link.
    func settledUpstream(_ word: UInt) -> Upstream {
        let isRetained = word & Word.draining != 0 && coldState?.isDrainedOneByOne != true
        return isRetained ? Upstream(self) : Upstream(suspended: self)
    }
}
