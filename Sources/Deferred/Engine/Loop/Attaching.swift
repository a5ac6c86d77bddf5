/// Creating sources, attaching consumers, and reading the outcome.
extension Link {
    /// Creates a source that its handles may complete. Not inlined, like `settled`: calling it takes less code than
    /// the allocation.
    @usableFromInline
    @inline(never)
    static func newSource(_ site: DeferredDiagnostic.Location) -> Link {
        Link(.source, .none, site, completedByHandles: true)
    }

    /// Creates a link that has its outcome.
    @usableFromInline
    @inline(never)
    static func settled(_ outcome: consuming Payload, _ site: DeferredDiagnostic.Location) -> Link {
        Link(.settled, outcome, site)
    }

    /// Attaches a new link with the step in `payload`, and runs that before this returns if this link is idle
    /// and settled (F3).
    @usableFromInline
    func attach(_ payload: consuming Payload, _ site: DeferredDiagnostic.Location) -> Link {
        guard ProcessFlags.areNone else { return attachCarrying(payload, site) }
        return attachOwn(payload, site)
    }

    /// As `attach`, for a payload without a closure of a user's.
    func attachOwn(_ payload: consuming Payload, _ site: DeferredDiagnostic.Location) -> Link {
        let consumer = Link(.waiting, payload, site)
        attach(consumer)
        return consumer
    }

    /// As `attach`, where closures may carry task-local values (X2).
    @inline(never)
    private func attachCarrying(
        _ payload: consuming Payload, _ site: DeferredDiagnostic.Location
    ) -> Link {
        attachOwn(payload.carryingTaskLocals(), site)
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
        if !Link.isIdle(word) { consumer.upstream = settledUpstream(word) }
        DrainLoop.with { $0.append(consumer, to: self, word) }
    }

    /// Makes an idle, settled link `draining`: the caller runs a step in place and becomes responsible for
    /// draining the list (F3). Returns false if it is not idle, or if a recording needs a link to show.
    @usableFromInline
    func beginStepInPlace() -> Bool {
        let idle = word.load(ordering: .relaxed) & ~Word.locked
        guard !Recording.isOn, Link.isIdle(idle),
            word.compareExchange(expected: idle, desired: idle | Word.locked, ordering: .acquiring).exchanged
        else { return false }
        activeThread = Platform.currentThread
        state.handle()
        unlock(idle | Word.draining)
        return true
    }

    /// Ends a step that has run in place (`beginStepInPlace`) with its result, and notifies the consumers
    /// attached in the meantime. Returns the link that the step would have been attached with.
    @usableFromInline
    func endStepInPlace(_ answer: consuming Payload, _ site: DeferredDiagnostic.Location) -> Link {
        let consumer: Link
        if answer.kind == .wait {
            let inner = answer.takeReference(as: Link.self)
            // Nothing can wait for a link that does not exist yet: there is no cycle to look for.
            consumer =
                inner.peekIfIdle() ? Link(.settled, inner.payload.copy(), site) : inner.attach(.adopt, site)
        } else {
            consumer = Link(.settled, answer, site)
        }
        // Most often nothing was attached.
        let draining = Word.settled | Word.draining
        if word.compareExchange(expected: draining, desired: Word.settled, ordering: .releasing).exchanged {
            return consumer
        }
        let consumers = takeListOrBecomeIdle(true)
        if !consumers.isEmpty { DrainLoop.with { $0.drain(self, consumers, after: 0, isOwned: false) } }
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

    /// The error of a settled link, which counts as handled; nil for a value, which is not received thereby (V1).
    var observedError: (any Error)? { peek() ? payload.error : nil }

    /// As `peek()`, for a caller that would otherwise attach a consumer: false while other consumers are
    /// being notified or are suspended by a pause.
    @usableFromInline
    func peekIfIdle() -> Bool {
        Link.isIdle(word.load(ordering: .acquiring)) && peek()
    }
}
