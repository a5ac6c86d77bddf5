/// Cancelling: up from a link to the source of what only it consumes; the error comes back down (C1-C5).
///
/// A walk runs nothing of a user's: it settles sources, claims cancellers, and detaches and marks links. Cancellers run when
/// all walks have ended, first those of what only waits for its turn; then the steps of detached links; and the consumers of settled sources are
/// notified after that, by the loop's jobs. Of several things that are cancelled at once, therefore, none begins because
/// another has ended (C7). ``CancelRequest`` says why no cancel is lost.
extension DrainLoop {
    /// Cancels a link, unless a cancel is in progress on this loop: then when that one comes to it.
    mutating func cancel(_ root: Link) { begin(CancelRequest(root)) }

    /// Cancels several links as one (C7).
    mutating func cancel(_ roots: [Link]) {
        if isCancelling {
            for root in roots { enqueue(CancelRequest(root)) }
            return
        }
        isCancelling = true
        cancelsSeveral = roots.count > 1
        for root in roots { walk(from: CancelRequest(root)) }
        finishCancelling()
    }

    /// Begins requests again at their roots, which were left in a link whose transition has ended.
    mutating func cancelAgain(_ requests: [CancelRequest]) {
        for request in requests where request.isOpen { begin(request) }
    }

    private mutating func begin(_ request: CancelRequest) {
        if isCancelling { return enqueue(request) }
        isCancelling = true
        walk(from: request)
        finishCancelling()
    }

    private mutating func finishCancelling() {
        while true {
            if let request = dequeueRequest() {
                walk(from: request)
            } else if let source = dequeueClaimed() {
                runCanceller(of: source)
            } else if let link = dequeueDetached() {
                runDetached(link)
            } else {
                break
            }
        }
        isCancelling = false
        cancelsSeveral = false
    }

    private mutating func walk(from request: CancelRequest) {
        var request = request
        while request.isOpen, !climb(&request) {}
    }

    /// Moves up from the root until the error has entered the chain or the request has been left in a link. Returns false if
    /// it has to begin again at the root, since another thread has changed the chain.
    private mutating func climb(_ request: inout CancelRequest) -> Bool {
        var link = request.root
        if request.isForFollower, !request.secure() { return true }
        var cycle = CycleWatch()
        /// The word of `link`, if it is already locked.
        var locked: UInt?
        while true {
            let word = locked.take() ?? link.lock()
            switch link.phase {
            case .settled, .bypassed:
                // The root; any other link was found pending in the critical section that locked it.
                link.unlock(word)
                return true
            case .source:
                return cancelSource(link, word, &request)
            case .dispatched:
                interrupt(link, for: request)
                link.unlock(word)
                return true
            case .detached where link.activeThread == thread:
                // The same cancel, or one from within it, has the error enter the chain here.
                request.end()
                link.unlock(word)
                return true
            case .running, .detached:
                return leave(&request, in: link, word)
            case .waiting:
                guard let upstream = link.upstream.retained() else {
                    interrupt(link, for: request)
                    link.unlock(word)
                    return true
                }
                link.unlock(word)
                // Another thread has closed a cycle and is about to break it. Rather than follow the cycle, this cancel
                // detaches the link that it began with.
                let isCyclic = cycle.isClosed(by: link)
                if isCyclic && link !== request.root {
                    link = request.root
                    continue
                }
                switch upstream.removeConsumer(link, always: isCyclic) {
                case .onlyConsumer(let upstreamWord):
                    locked = upstreamWord
                    link = upstream
                case .detached:
                    request.end()
                    if beginDetached(link, from: consume upstream) { enqueue(detached: link) }
                    return true
                case .alreadyDetached:
                    // The thread that has detached it is about to run its step.
                    let word = link.lock()
                    guard link.phase == .waiting || link.phase == .detached else {
                        link.unlock(word)
                        return false
                    }
                    return leave(&request, in: link, word)
                case .settled:
                    return link.locked {
                        let isSame = link.upstream.isNone || link.upstream.isSame(as: upstream)
                        guard link.phase == .waiting, isSame else { return false }
                        interrupt(link, for: request)
                        return true
                    }
                case .bypassed:
                    return false
                }
            }
        }
    }

    /// Marks a link in place of the root, unless it is the root. Under its lock.
    private func interrupt(_ link: Link, for request: CancelRequest) {
        if link === request.root, link.isCancelPending { return }
        request.end()
        link.interrupt()
    }

    /// Leaves the request in a locked link in transition, and unlocks it. Returns false if the walk has to begin again, with
    /// its root protected.
    private func leave(_ request: inout CancelRequest, in link: Link, _ word: UInt) -> Bool {
        guard request.isSecured, let coldState = link.coldState else {
            link.unlock(word)
            guard request.secure() else { return true }
            _ = link.ensureColdState()
            return false
        }
        coldState.requests.append(request)
        link.unlock(word)
        return true
    }

    // MARK: Sources

    /// Cancels a pending source, which is locked, and unlocks it. Returns false if the walk has to begin again.
    private mutating func cancelSource(
        _ source: Link, _ word: UInt, _ request: inout CancelRequest
    ) -> Bool {
        guard let coldState = source.coldState else {
            source.noteCancel()
            finish(source, word, .failure(CancellationError()))
            request.end()
            return true
        }
        if let list = coldState.list {
            source.noteCancel()
            source.unlock(word)
            return cancelList(list, source, &request)
        }
        let isRoot = source === request.root
        let isClaimed = source.flags.contains(.cancellerRuns)
        if isClaimed || coldState.canceller != nil {
            guard isRoot || request.isSecured else { return leave(&request, in: source, word) }
            if !isRoot { coldState.requests.append(request) }
            source.noteCancel()
            source.flags.insert(.cancellerRuns)
            let isWaiting = coldState.isWaiting
            source.unlock(word)
            if !isClaimed { enqueue(claimed: source, isWaiting: isWaiting?() ?? false) }
            return true
        }
        guard source.isFollowing, !source.flags.contains(.shielded) else {
            source.noteCancel()
            finish(source, word, .failure(CancellationError()), isAnswered: true)
            request.end()
            return true
        }
        guard isRoot || request.isSecured else { return leave(&request, in: source, word) }
        if !isRoot { coldState.requests.append(request) }
        source.noteCancel()
        cancelFollowed(by: source, word)
        return true
    }

    private mutating func cancelList(
        _ list: ListState, _ source: Link, _ request: inout CancelRequest
    ) -> Bool {
        guard list.detach() else {
            // Another thread is about to settle it.
            let word = source.lock()
            if source.phase == .source { return leave(&request, in: source, word) }
            source.unlock(word)
            return false
        }
        _ = complete(source, .failure(CancellationError()), isAnswered: true)
        request.end()
        let inputs = list.takeInputsToCancel(in: &self)
        // On its own, the list's callbacks precede the cancellers of its inputs (D4).
        if cancelsSeveral {
            for input in inputs { enqueue(CancelRequest(input)) }
        } else {
            enqueue(.cancel(inputs))
        }
        return true
    }

    /// Begins a request for each link by which a locked source follows another, and unlocks it.
    private mutating func cancelFollowed(by source: Link, _ word: UInt) {
        let following = source.coldState?.following ?? []
        source.unlock(word)
        if following.count > 1 { cancelsSeveral = true }
        for follower in following { enqueue(CancelRequest(follower, isForFollower: true)) }
    }

    /// Runs a source's canceller, once, unless it was completed meanwhile. Fails the source if that did not complete it.
    private mutating func runCanceller(of source: Link) {
        let word = source.lock()
        guard source.phase == .source, let coldState = source.coldState,
            let canceller = coldState.canceller.take()
        else { return source.unlock(word) }
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
        guard source.phase == .source else { return source.unlock(newWord) }
        source.flags.remove(.cancellerRuns)
        if source.isFollowing, !source.flags.contains(.shielded) {
            cancelFollowed(by: source, newWord)
        } else {
            finish(source, newWord, .failure(CancellationError()), isAnswered: true)
        }
    }

    // MARK: Detaching

    /// Makes a link `detached`; it keeps its step. Returns false if another thread has it.
    ///
    /// `upstream` is retained until the pointer to it has been cleared, and not while the step runs.
    private func beginDetached(_ link: Link, from upstream: consuming Link) -> Bool {
        let isFirst = link.locked {
            guard link.phase == .waiting else { return false }
            link.phase = .detached
            link.activeThread = thread
            link.upstream = .none
            if link.flags.contains(.cancelPending) {
                link.flags.insert(.wasMarked)
                if !link.isCancelPending { link.flags.remove(.cancelPending) }
            }
            return true
        }
        withExtendedLifetime(upstream) {}
        return isFirst
    }

    /// Runs the step of a detached link with the error, as if that had come from upstream.
    private mutating func runDetached(_ link: Link) {
        let word = link.lock()
        let payload = link.startRunning(on: thread)
        link.unlock(word)
        performCancelled(payload, on: link)
    }

    /// Detaches a link from what it waits for, without cancelling that. One that is in a list that is being
    /// drained stays there with nothing to do. Returns false if its step has been taken already.
    @discardableResult
    mutating func detach(_ link: Link) -> Bool {
        detachPending(link) || link.replaceStepWithNoOp()
    }

    /// Detaches a waiting link from what it waits for, without cancelling that, and settles it: with an empty value, or if
    /// it has closed a cycle, with that error. Returns false if upstream is settled.
    @discardableResult
    mutating func detachPending(_ link: Link, isCyclic: Bool = false) -> Bool {
        let upstreamNow: Link? = link.locked { link.phase == .waiting ? link.upstream.retained() : nil }
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
        if isCyclic {
            finish(link, linkWord, link.failure(.cycle), isAnswered: true)
        } else {
            finish(link, linkWord, .value(()))
        }
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
    fileprivate enum Removal {
        /// Not removed, as it is the only one. The link is still locked; this is its word.
        case onlyConsumer(UInt)
        case detached, alreadyDetached, settled, bypassed
    }

    /// Removes a consumer that is cancelled, unless it is the last: then this link is to be cancelled too.
    /// Decided under this link's lock, so that of two that leave at once one is the last.
    ///
    /// Sound: the references in `dropped` are the list's, taken over from it, and are released once.
    ///
    /// - Parameter always: Whether it is removed even if it is the last.
    fileprivate func removeConsumer(_ consumer: Link, always: Bool) -> Removal {
        var word = lock()
        if phase == .bypassed {
            unlock(word)
            return .bypassed
        }
        if consumer.isDetached {
            unlock(word)
            return .alreadyDetached
        }
        if word & Word.settled != 0 {
            unlock(word)
            return .settled
        }
        if !always && Link.isAlone(consumer, in: word) { return .onlyConsumer(word) }
        var dropped: [Unmanaged<Link>] = []
        guard hasConsumer(besides: consumer, word: &word, dropped: &dropped) || always else {
            if dropped.isEmpty { return .onlyConsumer(word) }
            unlock(word)
            for link in dropped { link.release() }
            return removeConsumer(consumer, always: always)
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
        if Recording.isOn { return Recording.during(.cancelling, of: self) { Link.cancelNow([self]) } }
        Abandonment.finishWaiting()
        var loop = DrainLoop()
        loop.cancel(self)
        loop.run()
    }

    /// Cancels several links as one (C7), and runs what follows.
    static func cancel(_ links: [Link]) {
        if Recording.isOn { return Recording.during(.cancelling, ofEach: links[...]) { cancelNow(links) } }
        cancelNow(links)
    }

    private static func cancelNow(_ links: [Link]) {
        Abandonment.finishWaiting()
        var loop = DrainLoop()
        loop.cancel(links)
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
        let isWaiting = phase == .waiting
        if isWaiting { swap(&payload, &self.payload) }
        unlock(word)
        return isWaiting
    }
}
