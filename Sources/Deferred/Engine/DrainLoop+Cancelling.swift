/// Cancelling: up from a link to the source of what only it consumes; the error comes back down (C1-C5).
extension DrainLoop {
    /// Cancels a link.
    ///
    /// - Parameter consumer: A consumer further down, if the cancel began there: where it is to begin again if it is late.
    mutating func cancel(_ first: Link, for consumer: Link? = nil) {
        let root = consumer ?? first
        /// Where the walk began, or the follower through which it passed a source.
        var start = first
        var link = first
        /// The consumer from which the cancel moved up to `link`, if `link` is not the start.
        var origin: Link?
        /// The consumer from which it moved up to the source that `start` follows for.
        var beyond: (consumer: Link, source: Link)?
        var cycle = CycleWatch()
        /// The word of `link`, if it is already locked.
        var locked: UInt?
        while true {
            let word = locked.take() ?? link.lock()
            switch link.phase {
            case .settled, .bypassed:
                link.unlock(word)
                // Settled, or bypassed, in the meantime: the cancel takes effect where the chain then stands
                // (C5).
                if let origin {
                    if origin.rememberCancel(whileWaitingFor: link) { return }
                } else {
                    if start === root { return }
                    start = root
                }
                link = start
                origin = nil
                cycle = CycleWatch()

            case .source:
                switch cancelSource(link, word, for: origin) {
                case .done:
                    return
                case .follows(let follower):
                    beyond = origin.map { ($0, link) }
                    start = follower
                    link = follower
                case .comesLate:
                    guard let consumer = origin, !consumer.rememberCancel(whileWaitingFor: link) else {
                        return
                    }
                    link = start
                    cycle = CycleWatch()
                }
                origin = nil

            case .dispatched:
                link.flags.insert(.cancelPending)
                return link.unlock(word)

            case .running, .linking:
                link.flags.insert(.cancelPending)
                // If the callback returns a value, the link that was cancelled still must not run with it.
                origin?.noteCancel()
                link.unlock(word)
                guard origin == nil, let (consumer, source) = beyond.take() else { return }
                if consumer.rememberCancel(whileWaitingFor: source) { return }
                start = root
                link = root
                cycle = CycleWatch()

            case .waiting:
                guard let upstream = link.upstream.retained() else {
                    link.rememberCancelUntilDequeued()
                    return link.unlock(word)
                }
                link.unlock(word)
                // Another thread has closed a cycle and is about to break it. Rather than follow the cycle,
                // this cancel detaches the link that it began with.
                let isCyclic = cycle.isClosed(by: link)
                if isCyclic && link !== start {
                    link = start
                    origin = nil
                    continue
                }
                // Released before upstream is locked, as this may be the last reference.
                origin = nil
                switch upstream.detach(link, always: isCyclic) {
                case .onlyConsumer(let upstreamWord):
                    locked = upstreamWord
                    origin = link
                    link = upstream
                case .detached:
                    return runDetached(link, from: consume upstream)
                case .alreadyDetached:
                    // Another cancel is about to run its step. If that returns a pending Deferred, this
                    // cancel is for that one.
                    if link.rememberCancel() { return }
                    link = start
                    cycle = CycleWatch()
                case .settled:
                    if link.rememberCancel(whileWaitingFor: upstream) { return }
                    link = start
                    cycle = CycleWatch()
                case .bypassed:
                    link = start
                    cycle = CycleWatch()
                }
            }
        }
    }

    /// Takes a detached link's step and runs it with `error`, as if that had come from upstream.
    ///
    /// `upstream` is retained until the pointer to it has been cleared, and not while the step runs.
    private mutating func runDetached(
        _ link: Link, from upstream: consuming Link, with error: any Error = CancellationError()
    ) {
        let word = link.lock()
        guard link.phase == .waiting else { return link.unlock(word) }
        let payload = link.startRunning(on: thread)
        link.unlock(word)
        withExtendedLifetime(upstream) {}
        _ = consume upstream
        _ = perform(payload, on: link, with: .failure(error))
    }

    /// Detaches a waiting link from what it waits for, and runs its step with `error`, as if from upstream.
    /// Does nothing if its step has been taken, or upstream is settled.
    mutating func fail(_ link: Link, with error: any Error) {
        let waitsFor = link.locked { link.phase == .waiting ? link.upstream.retained() : nil }
        guard let upstream = waitsFor, case .detached = upstream.detach(link, always: true) else { return }
        runDetached(link, from: upstream, with: error)
    }

    private enum SourceCancel {
        case done
        /// It follows another, through this link; the cancel continues there.
        case follows(Link)
        /// It is about to be settled, or another thread settled it while its canceller ran.
        case comesLate
    }

    /// Runs a pending source's canceller, once, and fails the source if that did not complete it. Called with
    /// the source locked; unlocks it.
    ///
    /// While the canceller runs, a cancel by another thread is noted in `consumer`: what overtakes the canceller must not
    /// reach it (C5). An outcome that the canceller brings about removes the note (C1).
    private mutating func cancelSource(_ source: Link, _ word: UInt, for consumer: Link?) -> SourceCancel {
        guard !source.flags.contains(.cancellerRuns) else {
            if source.coldState?.cancellerThread != thread { consumer?.noteCancel() }
            source.unlock(word)
            return .done
        }
        if !source.flags.contains(.cancelled) { source.flags.insert([.cancelled, .dropsLateResult]) }
        if let list = source.coldState?.list {
            source.unlock(word)
            guard list.detach() else { return .comesLate }
            _ = complete(source, .failure(CancellationError()))
            enqueue(.cancelInputs(list))
            return .done
        }
        guard let coldState = source.coldState, let canceller = coldState.canceller.take() else {
            return cancelBareSource(source, word)
        }

        source.flags.insert(.cancellerRuns)
        coldState.cancellerThread = thread
        // One for all that may complete it, so that of all late results one is dropped (C2).
        let sourceReference = source.sourceReference ?? SourceReference(source)
        source.sourceReference = sourceReference
        source.unlock(word)
        do {
            let producer = Producer(forCanceller: sourceReference)
            if Recording.isOn {
                Recording.during(.canceller, of: source) { canceller(producer) }
            } else {
                canceller(producer)
            }
        }
        let newWord = source.lock()
        let wasOvertaken = source.flags.remove(.cancellerRuns) == nil
        guard source.phase == .source else {
            source.unlock(newWord)
            return wasOvertaken ? .comesLate : .done
        }
        Link.forgetCancels(in: newWord)
        return cancelBareSource(source, newWord)
    }

    /// Fails a source in the critical section in which it was found pending, so that no completion can
    /// precede it (C5); or continues with what it follows.
    private mutating func cancelBareSource(_ source: Link, _ word: UInt) -> SourceCancel {
        let following = source.flags.contains(.shielded) ? [] : source.coldState?.following ?? []
        guard let followed = following.first else {
            finish(source, word, .failure(CancellationError()))
            return .done
        }
        source.unlock(word)
        for other in following.dropFirst() { enqueue(.cancel(other)) }
        return .follows(followed)
    }

    /// Detaches a link from what it waits for, without cancelling that. One that is in a list that is being
    /// drained stays there with nothing to do. Returns false if its step has been taken already.
    @discardableResult
    mutating func detach(_ link: Link) -> Bool {
        detach(link, settlingWith: .value(())) || link.replaceStepWithNoOp()
    }

    /// Detaches a waiting link from what it waits for, without cancelling that, and settles it. Returns false
    /// if upstream is settled.
    @discardableResult
    mutating func detach(_ link: Link, settlingWith outcome: consuming Link.Payload) -> Bool {
        let upstreamNow: Link? = link.locked {
            switch link.phase {
            case .waiting:
                return link.upstream.retained()
            case .linking:
                link.flags.insert(.detachesOnceLinked)
                return nil
            default:
                return nil
            }
        }
        guard let upstream = upstreamNow else { return false }
        defer { withExtendedLifetime(upstream) {} }
        let word = upstream.lock()
        guard word & Word.settled == 0, upstream.phase != .bypassed, !link.isDetached else {
            upstream.unlock(word)
            return false
        }
        link.isDetached = true
        var newWord = word
        let isUnlinked = upstream.unlink(link, word: &newWord)
        upstream.unlock(newWord)
        if !isUnlinked { upstream.noteDetachment() }
        let linkWord = link.lock()
        guard link.phase == .waiting else {
            link.unlock(linkWord)
            return true
        }
        let payload = link.startRunning(on: thread)
        finish(link, linkWord, outcome)
        _ = consume payload
        return true
    }
}

/// Detects that a walk follows a cycle, by comparing each link with one from before (Brent's algorithm): in
/// constant memory, and no more than 64 links and three times the length of the cycle.
private struct CycleWatch {
    private var kept: Link?
    private var steps = 0
    private var limit = 64
    private var hasFound = false

    /// Whether the walk, which is now at `link`, follows a cycle; from then on always.
    mutating func isClosed(by link: Link) -> Bool {
        if hasFound { return true }
        if kept === link {
            hasFound = true
            return true
        }
        steps += 1
        if steps == limit {
            kept = link
            limit *= 2
            steps = 0
        }
        return false
    }
}

extension Link {
    fileprivate enum Detaching {
        /// Not detached, as it is the only one. The link is still locked; this is its word.
        case onlyConsumer(UInt)
        case detached, alreadyDetached, settled, bypassed
    }

    /// Removes a consumer that is cancelled, unless it is the last: then this link is to be cancelled too.
    /// Decided under this link's lock, so that of two that leave at once one is the last.
    ///
    /// Sound: the references in `dropped` are the list's, taken over from it, and are released once.
    ///
    /// - Parameter always: Whether it is removed even if it is the last.
    fileprivate func detach(_ consumer: Link, always: Bool) -> Detaching {
        var word = lock()
        if phase == .bypassed {
            unlock(word)
            return .bypassed
        }
        if word & Word.settled != 0 {
            unlock(word)
            return .settled
        }
        if consumer.isDetached {
            unlock(word)
            return .alreadyDetached
        }
        if !always && Link.isAlone(consumer, in: word) { return .onlyConsumer(word) }
        var dropped: [Unmanaged<Link>] = []
        guard hasConsumer(besides: consumer, word: &word, dropped: &dropped) || always else {
            if dropped.isEmpty { return .onlyConsumer(word) }
            unlock(word)
            for link in dropped { link.release() }
            return detach(consumer, always: always)
        }
        consumer.isDetached = true
        let isUnlinked = unlink(consumer, word: &word)
        unlock(word)
        for link in dropped { link.release() }
        if !isUnlinked { noteDetachment() }
        return .detached
    }

    /// Cancels this link, and runs what follows.
    @usableFromInline
    func cancel() {
        if Recording.isOn { return Recording.during(.cancelling, of: self) { cancelNow() } }
        cancelNow()
    }

    private func cancelNow() {
        Abandonment.finishWaiting()
        var loop = DrainLoop()
        loop.cancel(self)
        loop.run()
    }

    /// Stops waiting, and cancels nothing. Returns false if the step has been taken, and runs or has run.
    @discardableResult
    func detach() -> Bool {
        var loop = DrainLoop()
        let detaches = loop.detach(self)
        loop.run()
        return detaches
    }

    /// Replaces the step of this link with a no-op; the link stays queued as a consumer. Returns false if the
    /// step has been taken already.
    @discardableResult
    func replaceStepWithNoOp() -> Bool {
        var payload = Payload.consume
        let word = lock()
        let isWaiting = phase == .waiting || phase == .linking
        if isWaiting { swap(&payload, &self.payload) }
        unlock(word)
        return isWaiting
    }
}
