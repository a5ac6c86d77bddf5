/// Cancelling: up from a link to the source of what only it consumes; the error comes back down (C1-C5).
///
/// A walk runs nothing of a user's: it settles sources, claims cancellers, and detaches and marks links.
/// Cancellers run when all walks have ended, first those of what only waits in a queue, as for a permit or an
/// element; then the finalizers of what nothing waits for; then the steps of detached links; and the consumers of
/// settled sources are notified after that, by the loop's jobs. Of several things that are cancelled at once,
/// therefore, none begins because another has ended (C7). Other threads may end a thing as soon as a cancel has taken
/// effect there: so a cancel of several comes first to those that wait, and to all before it takes effect on others
/// (`putsOff`).
/// ``CancelRequest`` says why no cancel is lost.
extension DrainLoop {
    /// Begins requests at their roots, as one cancel (C7): new ones, or those that were left in a link whose
    /// transition has ended. If a cancel is in progress on this loop, they are part of that.
    mutating func begin(_ requests: some Collection<CancelRequest>) {
        if requests.isEmpty { return }
        let isFirst = cancelInProgress == .none
        if isFirst { cancelInProgress = requests.count > 1 ? .ofSeveral : .ofOne }
        for request in requests { if isFirst { climb(request) } else { enqueue(request) } }
        if isFirst { finishCancelling() }
    }

    /// Runs requests, and what they claim and detach, until there are none.
    private mutating func finishCancelling() {
        while true {
            if let request = others?.requests.popFirst() ?? others?.postponed.popFirst() {
                climb(request)
            } else if let source = others?.claimedWaiting.popFirst() ?? others?.claimed.popFirst() {
                runCanceller(of: source)
            } else if let scope = others?.ended.takeFirst() {
                // Its finalizers run, unless something further down has yet to end.
                _ = consume scope
            } else if let (link, scope) = others?.detached.takeFirst() {
                // Its step runs with the error as if that had come from upstream. Requests that came since begin
                // again after it.
                let current = self.scope
                if let scope {
                    self.scope = FinalizerScope.join(scope, current)
                }
                let word = link.lock()
                _ = link.state.run()
                performCancelled(link, word)
                self.scope = current
            } else {
                break
            }
        }
        // Releases its memory, which retains the roots.
        others?.requests = []
        others?.postponed = []
        cancelInProgress = .none
    }

    // MARK: Climbing

    /// How often a walk may come back to its root before it takes the chain for a cycle: the chain may also
    /// have changed meanwhile.
    private static let greatestReturns = 8

    /// Moves up from the root until the error has entered the chain or the request has been left in a link.
    /// Begins again at the root if another thread has changed the chain.
    private mutating func climb(_ request: consuming CancelRequest) {
        var link = request.root
        /// How many links it has left upwards since it began at its root, and how often it has come back to that.
        var (steps, returns) = (0, 0)
        /// Whether the root has to be notified if the request is answered.
        var needsAnswer = false
        /// The word of `link`, if it is already locked.
        var locked: UInt?
        while true {
            let word = locked.take() ?? link.lock()
            // The drain loop ends the mark of a root that it notifies under this lock.
            if link === request.root {
                if !request.isOpen { return link.unlock(word) }
                needsAnswer = link.payload.needsAnswer
            }
            if needsAnswer, link.phase == .waiting || link.phase == .dispatched || link.phase == .source {
                link.set(Link.Flags.isPassed)
            }
            let isOver: Bool
            switch link.phase {
            case .detached where link.activeThread == thread:
                // About to run its step with the error.
                request.end()
                fallthrough
            case .settled, .bypassed:
                // The root; any other link was found pending in the critical section that locked it.
                return link.unlock(word)
            case .dispatched where link.keepsOutcome && link !== request.root:
                isOver = leave(&request, in: link, word)
            case .dispatched: return interrupt(link, word, for: request)
            case .running, .detached: isOver = leave(&request, in: link, word)
            case .source: isOver = cancelSource(link, word, &request)
            case .waiting:
                guard let upstream = link.upstream.retained() else {
                    return interrupt(link, word, for: request)
                }
                link.unlock(word)
                // Another thread has closed a cycle and is about to break it. Rather than follow the cycle,
                // this cancel detaches its root. (That is in the cycle: any other link that it comes to a
                // second time has two consumers.)
                if upstream === request.root { returns += 1 }
                let isCyclic = returns > Self.greatestReturns
                if isCyclic && link !== request.root {
                    link = request.root
                    continue
                }
                let removal = upstream.removeConsumer(link, always: isCyclic)
                if case .onlyConsumer(let upstreamWord) = removal {
                    locked = upstreamWord
                    link = upstream
                    steps += 1
                    continue
                }
                isOver = endWalk(&request, at: link, below: consume upstream, removal, after: steps)
            }
            if isOver { return }
            (link, steps, returns) = (request.root, 0, 0)
        }
    }

    /// Ends a walk at a link whose upstream is not to be cancelled. Returns false if it has to begin again at
    /// the root.
    ///
    /// - Parameter steps: How many links it has left upwards.
    private mutating func endWalk(
        _ request: inout CancelRequest, at link: Link, below upstream: consuming Link,
        _ removal: Link.Removal,
        after steps: Int
    ) -> Bool {
        switch removal {
        case .onlyConsumer, .bypassed:
            return false
        case .heldBack:
            // Without a handle that could unpause it, it is not paused.
            if link.unpausesUpstreamWithoutHandle(consume upstream) { return false }
            guard let upstream = link.waitedFor else { return false }
            let scope = FinalizerScope(holding: HeldScopes())
            let again = upstream.removeConsumer(link, always: false, fromPausedInto: scope)
            if case .onlyConsumer(let word) = again {
                upstream.unlock(word)
                return false
            }
            return endWalk(&request, at: link, below: upstream, again, after: steps)
        case .detached, .detachedFromPaused:
            // Nothing else consumes what is paused: it is cancelled for its part.
            var paused: FinalizerScope?
            if case .detachedFromPaused(let scope) = removal {
                paused = scope
                enqueue(CancelRequest(copy upstream))
            }
            let thread = thread
            // Not if another thread has its step.
            var wouldHandle = false
            let isFirst = link.locked {
                guard link.state.detach() else { return false }
                wouldHandle = !link.onlyObserves && link.payload.kind != .observer
                link.activeThread = thread
                link.upstream = .none
                return true
            }
            // What finalizers wait for (Z1), if a pause has suspended it, or would have. A failure would have been this link's.
            let scope = isFirst ? paused ?? upstream.scopeOfSuspended() : nil
            if wouldHandle, upstream.isSettled { upstream.disownFailure() }
            // Released after the link's pointer to it has been cleared, and before the step runs.
            withExtendedLifetime(upstream) {}
            if isFirst { jobs.detached.append((link, scope)) }
            // The error reaches the root only if what the walk has come by still waits for the link: another thread may
            // have taken a link out of a cycle meanwhile, which then fails with that error.
            guard request.root.waits(for: link, within: steps) else { return false }
            request.end()
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
            // The root has closed a cycle, and failed.
            if upstream === request.root { return true }
            // Settled in a cycle that was broken, it may be what the root has received the error of.
            guard request.root.waits(for: link, within: steps) else { return false }
            let word = link.lock()
            let isSame = link.upstream.isNone || link.upstream.isSame(as: upstream)
            guard link.phase == .waiting, isSame else {
                link.unlock(word)
                return false
            }
            if putsOff(request, at: link, word) { return true }
            if link.keepsOutcome, link !== request.root { return leave(&request, in: link, word) }
            mark(link, word, for: request)
            // A pause that has taken hold meanwhile may not have seen the mark.
            guard upstream.locked({ upstream.isSuspended }) else { return true }
            let again = upstream.removeConsumer(link, always: false)
            return endWalk(&request, at: link, below: upstream, again, after: steps)
        }
    }

    /// Marks a locked link in place of the root, unless it is the root and protected, and unlocks it: the
    /// walk has ended. An observer of a list receives the outcome all the same: a list cancels pending
    /// inputs only.
    private mutating func interrupt(_ link: Link, _ word: UInt, for request: CancelRequest) {
        if putsOff(request, at: link, word) { return }
        mark(link, word, for: request)
    }

    /// As `interrupt`, for a request that is not put off.
    private mutating func mark(_ link: Link, _ word: UInt, for request: CancelRequest) {
        if link !== request.root || !link.isInterrupted {
            request.end()
            if link.payload.kind != .observer { link.state.interrupt() }
        }
        let returned = link.phase == .dispatched ? link.payload.takeReturnableInput() : nil
        link.unlock(word)
        // Given back when nothing else is left to do: a walk runs nothing of a user's.
        if let returned { jobs.last.append { _ in withExtendedLifetime(returned) {} } }
    }

    /// Leaves the request in a locked link in transition, and unlocks it. Returns false if the walk has to
    /// begin again, with its root protected.
    private mutating func leave(_ request: inout CancelRequest, in link: Link, _ word: UInt) -> Bool {
        if putsOff(request, at: link, word) { return true }
        guard request.isSecured, let coldState = link.coldState else {
            link.unlock(word)
            if !request.secure() {
                // It is part of the cancel that protects the root, except where that has taken effect and its error is
                // on its way. If that has ended meanwhile, it is a cancel of its own.
                let roots = CancelRequest.securing(Link.unprotectedFollowers(above: [request.root]))
                begin(roots)
                guard !roots.isEmpty, request.secure() else { return true }
            }
            _ = link.ensureColdState()
            return false
        }
        coldState.requests.append(request)
        link.unlock(word)
        return true
    }

    /// Puts a request off, once, that has come to where it takes effect, until the others of a cancel of
    /// several have been walked: another thread may end that at once, and what then begins may be one of the
    /// others (C7). Not at a source that waits itself, as for a permit. Returns false if the request goes on;
    /// otherwise unlocks the link.
    private mutating func putsOff(_ request: CancelRequest, at link: Link, _ word: UInt) -> Bool {
        guard isPutOff(request, at: link) else { return false }
        link.unlock(word)
        var postponed = request
        postponed.isPostponed = true
        enqueue(postponed)
        return true
    }

    private func isPutOff(_ request: CancelRequest, at link: Link) -> Bool {
        cancelInProgress == .ofSeveral && !request.isPostponed && link.coldState?.isWaiting == nil
    }

    // MARK: Sources

    /// Cancels a pending source, which is locked, and unlocks it. Returns false if the walk has to begin
    /// again.
    private mutating func cancelSource(
        _ source: Link, _ word: UInt, _ request: inout CancelRequest
    ) -> Bool {
        let coldState = source.coldState
        // A thread that is about to attach the consumer would find it failed. A list gives back what it waits for.
        let isLate = word & ~Word.flags == 0 || coldState?.list != nil
        if isLate, putsOff(request, at: source, word) { return true }
        let isRoot = source === request.root
        let mayStay = (isRoot || request.isSecured) && !isPutOff(request, at: source)
        let action = source.state.cancelSource(
            hasList: coldState?.list != nil, hasCanceller: coldState?.canceller != nil,
            isFollowing: source.isFollowing, mayStay: mayStay)
        switch action {
        case .protectRoot:
            return leave(&request, in: source, word)
        case .fail:
            let list = coldState?.listObserver
            // What is below a list belongs to a scope that those of the inputs outlive (Z2).
            let held = list != nil && FinalizerScope.areUsed ? HeldScopes(scope) : nil
            // If it cannot be detached, another thread is about to settle it.
            if let list, !list.acceptCancel(held) { return leave(&request, in: source, word) }
            let current = held == nil ? nil : scope
            if let held { scope = FinalizerScope(holding: held) }
            request.end()
            finish(source, word, .failure(CancellationError()), isAnswered: true)
            if held != nil { scope = current }
            if let list { cancelInputs(of: list) }
            return true
        case .claimCanceller, .stay, .cancelFollowed:
            break
        }
        if !isRoot { coldState?.requests.append(request) }
        if action == .cancelFollowed {
            cancelFollowed(by: source, word)
        } else {
            let isWaiting = coldState?.isWaiting
            source.unlock(word)
            guard action == .claimCanceller else { return true }
            let waits = isWaiting?() ?? false
            if waits { jobs.claimedWaiting.append(source) } else { jobs.claimed.append(source) }
        }
        return true
    }

    /// Cancels the inputs of a list whose Deferred was cancelled. On its own, the list's callbacks precede
    /// the cancellers of its inputs (D4).
    private mutating func cancelInputs(of list: ListObserver) {
        list.stop()
        let inputs = list.takeObservers()
        list.consumeLaterErrors(of: inputs)
        let isOfSeveral = cancelInProgress == .ofSeveral
        if isOfSeveral { for input in inputs { enqueue(CancelRequest(input)) } }
        jobs.append(isOfSeveral ? .leave(inputs, of: list) : .cancel(inputs, of: list))
    }

    /// Begins a request for each link by which a locked source follows another, and unlocks it.
    private mutating func cancelFollowed(by source: Link, _ word: UInt) {
        let following = source.coldState?.following ?? []
        source.coldState?.beginningCancels &+= 1
        source.unlock(word)
        let requests = CancelRequest.securing(Link.unprotectedFollowers(above: following))
        source.locked { source.coldState?.beginningCancels &-= 1 }
        if requests.isEmpty { return endAnsweredCancels(of: source) }
        if requests.count > 1 { cancelInProgress = .ofSeveral }
        begin(requests)
    }

    /// Runs a source's canceller, once, unless it was completed meanwhile. Fails the source if that did not
    /// complete it.
    ///
    /// One of the main actor runs there: at once if this is the main actor, otherwise later. Until then the source is
    /// pending, as while a canceller runs on another thread.
    private mutating func runCanceller(of source: Link) {
        let word = source.lock()
        if source.coldState?.cancellerIsOnMainActor ?? false, !MainActorDispatcher.isCurrent {
            source.unlock(word)
            return MainActorDispatcher().dispatch { DrainLoop.with { $0.runCanceller(of: source) } }
        }
        guard source.phase == .source, let coldState = source.coldState,
            let canceller = coldState.canceller.take()
        else { return source.unlock(word) }
        coldState.cancellerThread = thread
        // One for all that may complete it, so that of all late results one is dropped (C2).
        let sourceReference = source.sourceReference ?? SourceReference(source)
        source.sourceReference = sourceReference
        sourceReference.noteRight(to: source)
        source.unlock(word)
        do {
            let right = CompletionRight(forCanceller: sourceReference)
            let recorded = Recording.begin(.canceller, of: source)
            canceller(right)
            Recording.end(recorded)
        }
        let newWord = source.lock()
        switch source.state.endCanceller(isFollowing: source.isFollowing) {
        case nil: source.unlock(newWord)
        case .cancelFollowed: cancelFollowed(by: source, newWord)
        default: finish(source, newWord, .failure(CancellationError()), isAnswered: true)
        }
    }
}
