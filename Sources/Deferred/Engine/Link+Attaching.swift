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
        if Link.isIdle(word) {
            var loop = DrainLoop()
            activeThread = loop.thread
            unlock(word | Word.draining)
            loop.deliverFirst(consumer, of: self)
        } else {
            // The drain loop retains this link until the consumer is dequeued, or a pause suspends it.
            if word & Word.draining != 0 { consumer.upstream = Upstream(self) }
            unlock(Link.append(consumer, to: word))
        }
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
            loop.endStepInPlace(of: self, consumers)
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
        if payload.isFailure { locked { _ = flags.insert(.handled) } }
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
    /// Reports a failure that nothing handled, when the last handle is released (U1).
    @inline(__always)
    func reportIfUnhandled() {
        if payload.isFailure && !flags.contains(.handled) { reportUnhandled() }
    }

    /// Suppresses the unhandled-failure report for this link. Its failure still reaches its consumers.
    func disownFailure() {
        locked { _ = flags.insert(.handled) }
    }

    @inline(never)
    private func reportUnhandled() {
        guard let error = payload.error, !(error is CancellationError) else { return }
        DeferredDiagnostics.report(.unhandledFailure(error, made: made))
    }

    @usableFromInline
    func reportNotFireable(_ site: DeferredDiagnostic.Location) {
        DeferredDiagnostics.report(.notFireable(made: made, at: site))
    }

    @usableFromInline
    func reportUnbalancedUnpause(_ site: DeferredDiagnostic.Location) {
        DeferredDiagnostics.report(.unbalancedUnpause(made: made, at: site))
    }
}
