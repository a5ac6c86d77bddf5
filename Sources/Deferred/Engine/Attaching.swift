/// Attaching consumers, and reading the outcome.
extension Link {
    /// Attaches a new link with the step in `payload`, and runs that before this returns if this link is idle
    /// and settled (F3).
    @usableFromInline
    func attach(_ payload: consuming Payload, _ site: DeferredDiagnostic.Location) -> Link {
        let consumer = Link(.waiting, payload, site)
        attach(consumer)
        return consumer
    }

    /// Runs `body` when this link is drained, after what was attached before, without consuming it.
    func observe(_ body: @escaping @Sendable () -> Void) {
        let observer = Link(
            .waiting,
            .step { _ in
                body()
                return .value(())
            }, made.of(.hidden))
        observer.onlyObserves = true
        attach(observer)
    }

    /// Attaches a new link, to which only the caller has a reference.
    func attach(_ consumer: Link) {
        if Recording.isOn { Recording.attached(consumer, to: self) }
        let word = lock()
        if word & Word.settled == 0 {
            consumer.upstream = Upstream(self)
            unlock(Link.append(consumer, to: word))
            return
        }
        // The drain loop retains this link until the consumer is dequeued, or a pause suspends it.
        if word & Word.draining != 0 { consumer.upstream = Upstream(self) }
        var loop = DrainLoop()
        loop.append(consumer, to: self, word)
        loop.run()
    }

    /// Makes an idle, settled link `draining`: the caller runs a step in place and becomes responsible for
    /// draining the list (F3). Returns false if it is not idle, or if a recording needs a link to show.
    @usableFromInline
    func beginStepInPlace() -> Bool {
        if Recording.isOn { return false }
        guard Link.isIdle(word.load(ordering: .relaxed)) else { return false }
        let word = lock()
        let isIdle = Link.isIdle(word)
        if isIdle { activeThread = Platform.currentThread }
        unlock(isIdle ? word | Word.draining : word)
        return isIdle
    }

    /// Ends a step that has run in place (`beginStepInPlace`) with its result, and notifies the consumers
    /// attached in the meantime. Returns the link that the step would have been attached with.
    @usableFromInline
    func endStepInPlace(_ answer: consuming Payload, _ site: DeferredDiagnostic.Location) -> Link {
        let consumer: Link
        if answer.kind == .wait {
            let inner = answer.takeReference(as: Link.self)
            if Link.isIdle(inner.word.load(ordering: .acquiring)) {
                consumer = Link(.settled, inner.peekedOutcome(), site)
            } else {
                // Nothing can wait for a link that does not exist yet: there is no cycle to look for.
                consumer = inner.attach(.adopt, site)
            }
        } else {
            consumer = Link(.settled, answer, site)
        }
        let consumers = takeListOrBecomeIdle(true)
        if !consumers.isEmpty {
            var loop = DrainLoop()
            loop.drainRetained(self, consumers)
            loop.run()
        }
        return consumer
    }

    /// Whether the link is settled. Handles no failure.
    @usableFromInline
    var isSettled: Bool { word.load(ordering: .acquiring) & Word.settled != 0 }

    /// Whether there is an outcome in `payload` that the caller may read: a failure then counts as handled.
    @usableFromInline
    func peek() -> Bool {
        guard word.load(ordering: .acquiring) & Word.settled != 0 else { return false }
        if payload.isFailure { locked { state.handle() } }
        return true
    }

    /// As `peek()`, for a caller that would otherwise attach a consumer: false while other consumers are
    /// being notified or are suspended by a pause.
    @usableFromInline
    func peekIfIdle() -> Bool {
        Link.isIdle(word.load(ordering: .acquiring)) && peek()
    }

    /// Returns a copy of the outcome of a settled link, for a link that adopts it.
    func peekedOutcome() -> Payload {
        _ = peek()
        return payload.copy()
    }
}

// MARK: - Reporting

extension Link {
    /// Suppresses the unhandled-failure report for this link. Its failure still reaches its consumers.
    func disownFailure() {
        locked { state.handle() }
    }

    /// Reports a failure that nothing handled: the link's own, when the last handle is released, or one on its
    /// way to it (U1).
    @inline(never)
    func reportUnhandled(_ outcome: borrowing Payload) {
        guard let error = outcome.error, !outcome.isOfCancelledWork, !(error is CancellationError) else {
            return
        }
        DeferredDiagnostics.report(.unhandledFailure(error, made: made))
    }

    @usableFromInline
    func reportNotFireable(_ site: DeferredDiagnostic.Location) {
        DeferredDiagnostics.report(.notFireable(made: made, at: site))
    }
}

/// Awaiting a link from a Task.
extension Link {
    /// Waits for the outcome, and returns a link that has it; nil if the Task was cancelled first (C6).
    ///
    /// The continuation is the payload of a link that consumes this one. The drain loop that notifies the
    /// link, and the Task's cancellation, both take it out in a critical section of the link's lock in which
    /// they find it `waiting`: one of them gets it, and resumes the Task. There is no other state that they
    /// could disagree on.
    ///
    /// The cancellation may come while the link is being attached, when it cannot yet be cancelled. The marks
    /// `awaitCancelled` and `attached`, set under the same lock, decide which of the two cancels upstream, so
    /// that it is cancelled once. Sound: each path takes the continuation out under the lock, and resumes it
    /// once.
    ///
    /// The Task reads from the link, under its lock, why it was resumed, not from the continuation: a value
    /// that a continuation returns is ordered by the runtime alone, which ThreadSanitizer does not see
    /// where the resume precedes the await.
    ///
    /// | the Task is cancelled | it finds | resumes the Task | cancels upstream |
    /// |---|---|---|---|
    /// | before there is a continuation | nothing | `attach(_:resuming:)` | `attach(_:resuming:)` |
    /// | before the link is attached | the continuation | the cancellation | `attach(_:resuming:)` |
    /// | before the outcome | the continuation, `attached` | the cancellation | the cancellation |
    /// | after the outcome | another phase | the drain loop | nothing |
    @usableFromInline
    nonisolated(nonsending) func awaitOutcome() async -> Link? {
        let awaiting = Link(.waiting, .none, made.of(.awaiting))
        await withTaskCancellationHandler {
            await withUnsafeContinuation { attach(awaiting, resuming: $0) }
        } onCancel: {
            awaiting.cancelAwait()
        }
        return awaiting.isAwaitCancelled ? nil : awaiting
    }

    /// Whether the cancellation of the Task, not an outcome, ended the await.
    var isAwaitCancelled: Bool { locked { state.marks.contains(.awaitCancelled) } }

    /// Attaches the link of a Task that waits. Sound: the continuation is resumed once; see `awaitOutcome`.
    func attach(_ awaiting: Link, resuming continuation: UnsafeContinuation<Void, Never>) {
        let isCancelled = awaiting.locked {
            if awaiting.state.marks.contains(.awaitCancelled) { return true }
            awaiting.payload = .awaiting(continuation)
            return false
        }
        if isCancelled { continuation.resume() }
        attach(awaiting)
        let isToBeCancelled = awaiting.locked { awaiting.state.attachAwait() }
        if isToBeCancelled { awaiting.cancel() }
    }

    /// The Task was cancelled: resumes it, unless it has the outcome. From then on the link handles no
    /// failure (U1), and cancels upstream as a consumer does (C3).
    func cancelAwait() {
        var payload = Payload.noOp
        let word = lock()
        guard let isAttached = state.cancelAwait() else { return unlock(word) }
        swap(&payload, &self.payload)
        unlock(word)
        payload.resume()
        if isAttached { cancel() }
    }
}
