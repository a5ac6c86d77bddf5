/// The way of an outcome: a source is completed, the outcome is delivered to a consumer, whose step runs, and the
/// result of the step settles that. `DrainLoop.drain` takes the consumers one by one.
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
            // As `DrainLoop.finish`, without the queue: the caller retains this source. (75 instructions
            // less.)
            let consumers = settle(word, outcome, on: loop.thread)
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
        let isDropped = reference == nil && state.dropsThisLateResult()
        let first = completionSite
        unlock(word)
        if let reference { return reference.reportLate(site) }
        if !isDropped {
            DeferredDiagnostics.report(.alreadySettled(made: made, settledFirst: first, again: site))
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

// MARK: - Delivering

/// Delivering an outcome to one consumer: running its step, or doing what else it has to.
extension DrainLoop {
    /// Notifies one consumer. Returns true if a failure belongs to it from now on: it took the outcome, or
    /// would have, had it not been cancelled (U1).
    @inline(__always)
    mutating func deliver(_ outcome: borrowing Link.Payload, to taken: Unmanaged<Link>) -> Bool {
        // Sound: the list's reference, which this thread owns. It is forwarded and never copied, since a link
        // with no other reference may be bypassed (L6).
        let consumer = taken.takeRetainedValue()
        let word = consumer.lock()
        guard consumer.phase == .waiting else {
            consumer.unlock(word)
            return false
        }
        let isConsumer = !consumer.onlyObserves
        let isCancelled = consumer.begin(on: thread)
        if isCancelled {
            performCancelled(consume consumer, word)
            return isConsumer
        }
        return perform(consume consumer, word, with: outcome) && isConsumer
    }

    /// Does with the outcome that a link waited for what the link has to. It is locked, and `running` on this
    /// thread; unlocks it.
    @inline(__always)
    mutating func perform(
        _ link: consuming Link, _ word: UInt, with outcome: borrowing Link.Payload
    ) -> Bool {
        switch link.payload.kind {
        case .step where !Recording.isOn:
            let step = link.exchangePayload(with: .none)
            link.unlock(word)
            conclude(consume link, step.run(outcome))
            return true
        case .adopt, .observer, .awaiting:
            return take(outcome, by: consume link, word)
        default:
            return performOther(consume link, word, with: outcome)
        }
    }

    /// Settles a locked link that takes the outcome unchanged. Then notifies the list, or resumes the Task,
    /// that it stands for.
    @inline(never)
    private mutating func take(
        _ outcome: borrowing Link.Payload, by link: consuming Link, _ word: UInt
    ) -> Bool {
        if link.payload.kind == .adopt {
            finish(consume link, word, outcome.copy())
            return true
        }
        let step = link.settleAtEnd(word, with: outcome.copy())
        if step.kind == .awaiting {
            step.resume()
            return true
        }
        let index = step.inputIndex
        return step.takeReference(as: ListObserver.self).receive(at: index, by: link, in: &self)
    }

    /// As `perform`, for the kinds that few links have. Not inlined, so that the drain loop itself stays
    /// small.
    @inline(never)
    private mutating func performOther(
        _ link: consuming Link, _ word: UInt, with outcome: borrowing Link.Payload
    ) -> Bool {
        let payload = link.exchangePayload(with: .none)
        link.unlock(word)
        switch payload.kind {
        case .step:
            let result = Recording.run(payload, of: link, outcome)
            conclude(consume link, result)
            return true
        case .dispatchedStep:
            submit(payload.takeReference(as: DispatchedStep.self), of: consume link, with: outcome.copy())
            return true
        case .forward:
            return settle(payload.takeReference(as: Link.self), outcome.copy(), through: link)
        case .hook:
            payload.content(as: Link.Payload.Hook.self).run(&self, link)
            // The failure that an observer receives is not its own (U1).
            let result = link.onlyObserves ? .none : outcome.copy()
            conclude(consume link, result)
            return true
        case .noOp:
            conclude(consume link, .none)
            return false
        default:
            preconditionFailure("a waiting link has a step")
        }
    }

    /// As `perform`, with a cancellation in place of the outcome.
    @inline(never)
    mutating func performCancelled(_ link: consuming Link, _ word: UInt) {
        _ = perform(consume link, word, with: .failure(CancellationError()))
    }
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
        let released = link.sourceReference?.noteSettled(link, completedAt: link.completionSite)
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
        let whenSettled = coldState?.whenSettled.takeAll() ?? []
        let held = coldState?.retainedScope.take()
        let outcome = wasCancelled ? outcome.ofCancelledWork() : outcome
        let consumers = link.settle(word, outcome, on: thread)

        if isRecorded { Recording.describeFailure(of: link) }
        for body in whenSettled { body() }
        var inner = held.map { FinalizerScope.join($0, scope) } ?? scope
        if !finalizers.isEmpty {
            inner = FinalizerScope(finalizers, link.payload.copy(), in: inner.map { [$0] } ?? [])
        }
        if !consumers.isEmpty { enqueueDrain(link, consumers, inner) }
        if !following.isEmpty { stopFollowing(following, as: state) }
        if !endsRequests { begin(requests) }
        withExtendedLifetime((released, canceller, list)) {}
    }

    /// Detaches the links by which a source, now settled, followed others. A cancel of the source reaches all
    /// that it followed (C7), unless its canceller has answered it.
    ///
    /// - Parameter state: What the source was before.
    private mutating func stopFollowing(_ followers: [Link], as state: LinkState) {
        for follower in followers {
            if state.marks.contains(.shielded) {
                leaveShield(follower)
            } else if state.cancelsFollowed || !detachPending(follower) {
                follower.replaceStepWithNoOp()
            }
        }
        guard state.cancelsFollowed else { return }
        // One that is being cancelled is left to that cancel, which would be walked again to its end.
        let others = followers.filter { follower in follower.locked { !follower.isProtected } }
        begin(others.map { CancelRequest($0) })
    }

    /// Keeps the current scope open until `link` is settled and drained.
    mutating func retainScope(with link: Link) {
        if let scope { link.retainScope(scope) }
    }
}

extension Link {
    /// Keeps a scope open until this link is settled and drained.
    func retainScope(_ scope: FinalizerScope) {
        let coldState = ensureColdState()
        locked {
            coldState.retainedScope = coldState.retainedScope.map { FinalizerScope.join($0, scope) } ?? scope
        }
    }
}

extension Link {
    /// Makes a waiting or dispatched link `running`, on this thread, which then owns its step. Returns
    /// whether that receives `CancellationError` in place of the outcome. Under the lock.
    @inline(__always)
    func begin(on thread: UInt) -> Bool {
        activeThread = thread
        upstream = .none
        return state.run() && endsMark()
    }

    /// Replaces the payload, under the lock, and returns what it was. (A function of the link: ThreadSanitizer
    /// takes a mutating call on `link.payload` for a write to what reads the link's type, too.)
    @inline(__always)
    func exchangePayload(with new: consuming Payload) -> Payload {
        swap(&payload, &new)
        return new
    }

    @inline(never)
    private func endsMark() -> Bool {
        let (isInterrupted, isProtected) = state.takeInterruption()
        let isEnded = isProtected && coldState?.cancelMark?.close() ?? false
        return isInterrupted || isEnded
    }

    /// Settles a locked link at the end of a chain, that of a list or of a Task that awaits, and returns its
    /// step. It has no consumers and no cold state, and its failure belongs to the list or the Task (D3).
    @inline(__always)
    fileprivate func settleAtEnd(_ word: UInt, with outcome: consuming Payload) -> Payload {
        assert(word & ~Word.flags == 0 && coldState == nil)
        if Recording.isOn && payload.kind == .awaiting { Recording.settled(self, .value(())) }
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
}
