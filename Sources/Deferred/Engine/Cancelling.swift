/// Cancelling: a request goes up from its root to a place, and takes effect there; the error comes back down (C1-C5).
///
/// ``CancelPlace`` is what a search finds; ``CancelWalk`` says in which order cancels take effect (C7); ``CancelRequest``
/// says why none is lost.
extension DrainLoop {
    /// Begins requests at their roots, as one cancel (C7): new ones, or those that were left in a link whose
    /// transition has ended. If a cancel is in progress on this loop, they are part of that.
    mutating func begin(_ requests: some Collection<CancelRequest>) {
        if requests.isEmpty { return }
        let isFirst = cancels.begin(of: requests.count)
        for request in requests { if isFirst { walk(request) } else { cancels.enqueue(request) } }
        if isFirst { finishCancelling() }
    }

    /// Does what the walks have led to, until there is nothing left.
    private mutating func finishCancelling() {
        while let action = cancels.next() {
            switch consume action {
            case .request(let request): walk(request)
            case .canceller(let source): runCanceller(of: source)
            case .scope(let scope): _ = consume scope
            case .failing(let link, let inner):
                // As if the error had come from upstream. Requests that came since begin again after the step.
                let current = scope
                if let inner { scope = FinalizerScope.join(inner, current) }
                let word = link.lock()
                _ = link.state.run()
                performCancelled(link, word)
                scope = current
            }
        }
        cancels.end()
    }

    /// Has a request take effect, or leaves it in a link. Begins again at the root if another thread has changed the chain.
    private mutating func walk(_ request: consuming CancelRequest) {
        var isOver = false
        while !isOver {
            switch request.findPlace(on: thread) {
            case .none: return
            case .failingHere(let link, let word):
                request.end()
                return link.unlock(word)
            case .aboutToReceive(let link, let word): return interrupt(link, word, for: request)
            case .inTransition(let link, let word): isOver = leave(&request, in: link, word)
            case .source(let source, let word): isOver = cancelSource(source, word, &request)
            case .below(let link, let upstream, let word, let consumption, let steps):
                isOver = takeEffect(&request, at: link, below: upstream, word, consumption, after: steps)
            }
        }
    }

    // MARK: Links that wait

    /// Has a request take effect at a link that waits for something that is not to be cancelled, which is locked; unlocks
    /// that. Returns false if the walk has to begin again.
    ///
    /// - Parameter steps: How many links are between the root and this one.
    private mutating func takeEffect(
        _ request: inout CancelRequest, at link: Link, below upstream: consuming Link, _ word: UInt,
        _ consumption: Link.Consumption, after steps: Int
    ) -> Bool {
        switch consumption {
        case .only, .bypassed:
            upstream.unlock(word)
            return false
        case .shared:
            upstream.detach(link, word, byCancel: true)
            return failDetached(link, from: upstream, for: request, after: steps)
        case .paused:
            upstream.unlock(word)
            // Without a handle that could unpause it, it is not paused.
            if link.unpausesUpstreamWithoutHandle(consume upstream) { return false }
            guard let upstream = link.waitedFor else { return false }
            let fresh = FinalizerScope(holding: HeldScopes())
            let word = upstream.lock()
            let again = upstream.consumption(by: link, word, always: false)
            guard again == .paused, let coldState = upstream.coldState else {
                return takeEffect(&request, at: link, below: upstream, word, again, after: steps)
            }
            let scope = coldState.scopeOfFailing ?? fresh
            coldState.scopeOfFailing = scope
            upstream.detach(link, word, byCancel: true)
            // Nothing else consumes what is paused: it is cancelled for its part.
            cancels.enqueue(CancelRequest(copy upstream))
            return failDetached(link, from: upstream, for: request, after: steps, in: scope)
        case .alreadyDetached:
            upstream.unlock(word)
            // The thread that has detached it is about to run its step.
            let word = link.lock()
            guard link.phase == .waiting || link.phase == .failing else {
                link.unlock(word)
                return false
            }
            return leave(&request, in: link, word)
        case .settled:
            if word & Word.draining != 0 { upstream.set(Link.Flags.mayHaveInterruptedConsumers) }
            upstream.unlock(word)
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
            interruptNow(link, word, for: request)
            // A pause that has taken hold meanwhile may not have seen that.
            let upstreamWord = upstream.lock()
            guard upstream.isSuspended else {
                upstream.unlock(upstreamWord)
                return true
            }
            let again = upstream.consumption(by: link, upstreamWord, always: false)
            return takeEffect(&request, at: link, below: upstream, upstreamWord, again, after: steps)
        }
    }

    /// Has the step of a link receive the error that was detached from its upstream. Returns false if the walk has to begin
    /// again.
    ///
    /// - Parameter scope: What the link leads to belongs to it.
    private mutating func failDetached(
        _ link: Link, from upstream: consuming Link, for request: CancelRequest, after steps: Int,
        in scope: FinalizerScope? = nil
    ) -> Bool {
        let thread = thread
        // Not if another thread has its step.
        var wouldHandle = false
        let isFirst = link.locked {
            guard link.state.fail() else { return false }
            wouldHandle = !link.onlyObserves && link.payload.kind != .observer
            link.activeThread = thread
            link.upstream = .none
            return true
        }
        // What finalizers wait for (Z1), if a pause has suspended it. A failure would have been this link's.
        let scope = isFirst ? scope ?? upstream.scopeOfSuspended() : nil
        if wouldHandle, upstream.isSettled { upstream.disownFailure() }
        // Released after the link's pointer to it has been cleared, and before the step runs.
        withExtendedLifetime(upstream) {}
        if isFirst { cancels.enqueueFailing(link, in: scope) }
        // The error reaches the root only if what the walk has come by still waits for the link: another thread may
        // have taken a link out of a cycle meanwhile, which then fails with that error.
        guard request.root.waits(for: link, within: steps) else { return false }
        request.end()
        return true
    }

    /// Interrupts a locked link in place of the root, unless it is the root and protected, and unlocks it: the
    /// walk has ended. An observer of a list receives the outcome all the same: a list cancels pending
    /// inputs only.
    private mutating func interrupt(_ link: Link, _ word: UInt, for request: CancelRequest) {
        if putsOff(request, at: link, word) { return }
        interruptNow(link, word, for: request)
    }

    /// As `interrupt`, for a request that is not put off.
    private mutating func interruptNow(_ link: Link, _ word: UInt, for request: CancelRequest) {
        if link !== request.root || !link.isInterrupted {
            request.end()
            if link.payload.kind != .observer { link.state.interrupt() }
        }
        let returned = link.phase == .dispatched ? link.payload.takeReturnableInput() : nil
        link.unlock(word)
        // Given back when nothing else is left to do: a walk runs nothing of a user's.
        if let returned { jobs.last.append { _ in withExtendedLifetime(returned) {} } }
    }

    // MARK: Links in transition

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

    /// Puts a request off, once, that has come to a locked link where it takes effect, and unlocks that. Returns false if
    /// the request goes on.
    private mutating func putsOff(_ request: CancelRequest, at link: Link, _ word: UInt) -> Bool {
        guard cancels.putsOff(request, at: link) else { return false }
        link.unlock(word)
        return true
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
        let mayStay = (isRoot || request.isSecured) && !cancels.isToPutOff(request, at: source)
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
            cancels.enqueueCanceller(of: source, isWaiting: isWaiting?() ?? false)
        }
        return true
    }

    /// Cancels the inputs of a list whose Deferred was cancelled. On its own, the list's callbacks precede
    /// the cancellers of its inputs (D4).
    private mutating func cancelInputs(of list: ListObserver) {
        list.stop()
        let inputs = list.takeObservers()
        list.consumeLaterErrors(of: inputs)
        let isOfSeveral = cancels.isOfSeveral
        if isOfSeveral { for input in inputs { cancels.enqueue(CancelRequest(input)) } }
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
        cancels.extend(to: requests.count)
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
