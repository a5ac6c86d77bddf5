/// Completing a source explicitly, and settling any link with its outcome.
extension Link {
    /// Completes the source and runs its callbacks; returns whether this call completed it (F1, F2).
    ///
    /// - Parameter byCanceller: Whether the canceller's own Resolver completes it, on whatever thread (C1).
    @usableFromInline
    func complete(
        _ outcome: consuming Payload, _ site: DeferredDiagnostic.Location, byCanceller: Bool = false
    ) -> Bool {
        let recorded = Recording.begin(.completing(at: site), of: self)
        defer { Recording.end(recorded) }
        let word = lock()
        guard phase == .source else {
            reportLate(word, site)
            return false
        }
        var loop = DrainLoop()
        store(completionSite: site)
        if hasOnlyConsumers {
            // As `DrainLoop.finish`, without the queue: the caller retains this source. (75 instructions
            // less.)
            let consumers = settle(word, outcome, on: loop.thread)
            if consumers.isEmpty { return true }
            loop.drainRetained(self, consumers)
        } else {
            if byCanceller { coldState?.cancellerThread = loop.thread }
            loop.finish(self, word, outcome)
        }
        loop.run()
        return true
    }

    /// Reports a late result, or drops it (C2), and unlocks this settled source.
    @inline(never)
    private func reportLate(_ word: UInt, _ site: DeferredDiagnostic.Location) {
        let reference = sourceReference
        let isDropped = reference == nil && state.dropsThisLateResult()
        let first = completionSite
        unlock(word)
        if let reference { return reference.reportLate(site) }
        if !isDropped {
            DeferredDiagnostics.report(.alreadyFired(made: made, firedFirst: first, again: site))
        }
    }

    /// Stores the outcome of this locked link, unlocks it, and returns its consumers, which `thread` is to
    /// notify.
    @inline(__always)
    fileprivate func settle(_ word: UInt, _ outcome: consuming Payload, on thread: UInt) -> ConsumerQueue {
        payload = outcome
        state = state.settled()
        activeThread = thread
        let consumers = ConsumerQueue(takenFrom: word)
        unlock(Word.settled | (word & Word.paused) | (consumers.isEmpty ? 0 : Word.draining))
        return consumers
    }

    /// Whether the source was cancelled (C2).
    @usableFromInline
    var isCancelled: Bool { locked { state.marks.contains(.cancelled) } }
}

// MARK: - Settling

/// Settling a link: storing its outcome, and enqueuing the notification of its consumers.
extension DrainLoop {
    /// Continues a running link with the result of its step.
    @inline(__always)
    mutating func conclude(_ link: consuming Link, _ result: consuming Link.Payload) {
        if result.kind == .wait {
            wait(link, for: result.takeReference(as: Link.self))
        } else {
            let word = link.lock()
            finish(link, word, result)
        }
    }

    /// Completes a source on behalf of the engine, unless it was settled before.
    mutating func settle(source: Link, _ outcome: consuming Link.Payload) {
        let word = source.lock()
        guard source.phase == .source else { return source.unlock(word) }
        finish(source, word, outcome)
    }

    /// Fails a running link or a source, or with the cancel that it received before (C5).
    mutating func settle(_ link: Link, failingWith error: DeferredError) {
        let word = link.lock()
        guard link.phase != .settled else { return link.unlock(word) }
        finish(link, word, link.failure(error), isAnswered: true)
    }

    /// Stores the outcome of a locked link, unlocks it and enqueues the notification of its consumers.
    ///
    /// - Parameter isAnswered: Whether the outcome comes of the cancels left in the link, which then end
    ///   (C1).
    @inline(__always)
    mutating func finish(
        _ link: consuming Link, _ word: UInt, _ outcome: consuming Link.Payload, isAnswered: Bool = false
    ) {
        if !link.hasOnlyConsumers { return finishWithColdState(link, word, outcome, isAnswered) }
        let consumers = link.settle(word, outcome, on: thread)
        if !consumers.isEmpty { enqueueDrain(link, consumers, scope) }
    }

    @inline(never)
    private mutating func finishWithColdState(
        _ link: Link, _ word: UInt, _ outcome: consuming Link.Payload, _ isAnswered: Bool
    ) {
        // What is taken out under the lock is released after it, since it may have a user's deinit.
        let released = link.sourceReference?.end(link, completedAt: link.completionSite)
        let state = link.state
        let coldState = link.coldState
        let requests = coldState?.requests.takeAll() ?? []
        let isCancellers = state.marks.contains(.cancellerRuns) && coldState?.cancellerThread == thread
        let endsRequests = isAnswered || isCancellers
        if endsRequests { for request in requests { request.end() } }
        let wasCancelledWhileItRan = state.phase == .running && !requests.isEmpty && !endsRequests
        let wasCancelled = state.marks.contains(.cancelled) || wasCancelledWhileItRan

        let isRecorded = Recording.isOn
        if isRecorded { Recording.settled(link, outcome) }
        let canceller = coldState?.canceller.take()
        let list = coldState?.list.take()
        let following = coldState?.following.takeAll() ?? []
        let finalizers = coldState?.finalizers.takeAll() ?? []
        let held = coldState?.retainedScope.take()
        let outcome = wasCancelled ? outcome.ofCancelledWork() : outcome
        let consumers = link.settle(word, outcome, on: thread)

        if isRecorded { Recording.describeFailure(of: link) }
        var inner = held.map { FinalizerScope.join($0, scope) } ?? scope
        if !finalizers.isEmpty {
            inner = FinalizerScope(finalizers, link.payload.copy(), in: inner.map { [$0] } ?? [])
        }
        if !consumers.isEmpty { enqueueDrain(link, consumers, inner) }
        if !following.isEmpty { stopFollowing(following, as: state) }
        if !endsRequests { for request in requests { begin(request) } }
        withExtendedLifetime((released, canceller, list)) {}
    }

    /// Detaches the links by which a source, now settled, followed others. A cancel of the source reaches all
    /// that it followed (C7), unless its canceller has answered it.
    ///
    /// - Parameter state: What the source was before.
    private mutating func stopFollowing(_ followers: [Link], as state: LinkState) {
        let isLeft = state.cancelsFollowed || state.marks.contains(.shielded)
        for follower in followers {
            if isLeft || !detachPending(follower) { follower.replaceStepWithNoOp() }
        }
        if state.cancelsFollowed { for follower in followers { begin(CancelRequest(follower)) } }
    }

    /// Keeps the current scope open until `link` is settled and drained.
    mutating func retainScope(with link: Link) {
        guard let scope else { return }
        let coldState = link.ensureColdState()
        link.locked {
            coldState.retainedScope = coldState.retainedScope.map { FinalizerScope.join($0, scope) } ?? scope
        }
    }
}
