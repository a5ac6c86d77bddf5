/// Nested results: a link whose callback returned another link waits for it and takes its outcome (L4).
extension DrainLoop {
    /// Makes a running link wait for `inner`, or settles it at once if that has an outcome.
    @inline(never)
    mutating func wait(_ link: consuming Link, for inner: Link) {
        if inner === link { return settle(link, failingWith: .cycle) }
        if Recording.isOn { Recording.waits(link, for: inner) }
        if Link.isIdle(inner.word.load(ordering: .acquiring)) { return settle(link, inner.peekedOutcome()) }

        // It is still in the list that it was detached from, and cannot be in another.
        if link.isDetached { return follow(inner, by: link) }

        if !hasScope, link.isUniquelyReferenced, let waiter = link.bypass(to: inner) {
            if Recording.isOn { Recording.bypassed(link, by: waiter) }
            enlist(waiter, with: inner)
        } else {
            retainScope(with: link)
            let word = link.lock()
            link.phase = .waiting
            link.activeThread = 0
            link.payload = .adopt
            link.upstream = Upstream(inner)
            link.unlock(word)
            enlist(link, with: inner)
        }
    }

    /// Puts a waiting link into the list of its upstream, or runs its step if that is settled; then cancels what it waits
    /// for, if it was cancelled while it ran (C4).
    private mutating func enlist(_ waiter: Link, with inner: Link) {
        let innerWord = inner.lock()
        // A cancel may have found it waiting by now.
        if waiter.isDetached { return inner.unlock(innerWord) }
        if Link.isIdle(innerWord) {
            inner.unlock(innerWord)
            let word = waiter.lock()
            let payload = waiter.startRunning(on: thread)
            let isCancelled = waiter.takeCancellation()
            waiter.unlock(word)
            if isCancelled {
                performCancelled(payload, on: waiter)
            } else if perform(payload, on: waiter, with: inner.payload) {
                _ = inner.peek()
            }
            return
        }
        // Settled and paused: nothing retains it until it is unpaused.
        if innerWord & (Word.settled | Word.draining) == Word.settled { waiter.clearUpstream() }
        inner.unlock(Link.append(waiter, to: innerWord))

        let word = waiter.lock()
        let isWaiting = waiter.phase == .waiting
        let coldState = waiter.coldState
        let isFollower = waiter.payload.kind == .forward
        let target = isFollower ? waiter.payload.reference(as: Link.self) : waiter
        let targetWord = isFollower ? target.word.load(ordering: .acquiring) : word
        waiter.unlock(word)
        // If it is not, another thread has it, and whatever was left in it.
        guard isWaiting else { return }

        // Only what waits for the waiter could close a cycle. Looked for after both ends are in place, so
        // that of two threads that close one cycle together at least one sees it; and before the cancels,
        // which would have to follow the cycle.
        guard inner === target || (targetWord & ~Word.flags != 0 && inner.waits(for: target)) else {
            if let coldState {
                cancelAgain(waiter.locked { waiter.phase == .waiting ? coldState.takeRequests() : [] })
            }
            return
        }
        if isFollower {
            detachPending(waiter)
            let word = target.lock()
            guard target.phase == .source else { return target.unlock(word) }
            finish(target, word, target.failure(.cycle), isAnswered: true)
        } else {
            detachPending(waiter, isCyclic: true)
        }
    }

    /// Makes a running link, which cannot be in another list, a source that follows `inner`.
    private mutating func follow(_ inner: Link, by link: Link) {
        retainScope(with: link)
        follow(link, inner, from: .running)
        if let coldState = link.coldState { cancelAgain(link.locked { coldState.takeRequests() }) }
    }

    /// Makes a source take the outcome of `other`, unless something else completes it first; fails it with
    /// `.cycle` if `other` waits for it. Returns false if it was settled.
    @discardableResult
    mutating func follow(_ source: Link, _ other: Link, from phase: Link.Phase = .source) -> Bool {
        let follower = Link(.waiting, .forward(to: source), source.made.of(.hidden))
        follower.upstream = Upstream(other)
        let coldState = source.ensureColdState()
        let (isPending, isCancelled) = source.locked {
            guard source.phase == phase else { return (false, false) }
            source.phase = .source
            source.hasFollowed = true
            coldState.following.append(follower)
            // The thread that runs the canceller cancels all that the source follows then.
            return (true, source.flags.contains(.cancelled) && !source.flags.contains(.cancellerRuns))
        }
        guard isPending else { return false }
        if Recording.isOn && phase == .source { Recording.follows(source, other) }
        enlist(follower, with: other)
        if isCancelled { cancelAgain([CancelRequest(follower, isForFollower: true)]) }
        return true
    }

    /// Completes a source with the outcome of what it follows, and settles the follower. Returns false if the source was
    /// settled before.
    ///
    /// In one critical section of the source, so that a cancel that comes up through the source finds both pending, and is
    /// then left in the running follower, or both settled.
    mutating func complete(
        _ source: consuming Link, _ outcome: consuming Link.Payload, through follower: Link
    ) -> Bool {
        let word = source.lock()
        let followerWord = follower.lock()
        // They have the follower as their root. Released after the lock.
        let requests = follower.coldState?.takeRequests()
        let isAnswered = follower.flags.contains(.wasMarked)
        finish(follower, followerWord, .value(()))
        let isPending = source.phase == .source
        if isPending {
            finish(source, word, outcome, isAnswered: isAnswered)
        } else {
            source.unlock(word)
        }
        _ = consume requests
        return isPending
    }
}

extension Link {
    /// Makes the only consumer of this link wait for `inner` in its place, and returns that consumer
    /// (L6).
    ///
    /// Possible if this link has no other references and no cold state, and the consumer adopts its outcome.
    /// The finished steps of an asynchronous recursion are thus freed as it runs. Returns `nil` otherwise.
    ///
    /// Sound: under this link's lock its list retains the link at `last`. The list is emptied in the same
    /// critical section, and the caller takes over its reference.
    fileprivate func bypass(to inner: Link) -> Link? {
        let word = lock()
        guard coldState == nil, flags.isEmpty, let last = Link.last(in: word),
            last._withUnsafeGuaranteedRef({ Link.isAlone($0, in: word) && $0.startLinking(to: inner) })
        else {
            unlock(word)
            return nil
        }
        phase = .bypassed
        unlock(0)
        let waiter = last.takeRetainedValue()
        waiter.next = nil
        return waiter
    }

    /// Makes a link that adopts an outcome wait for `inner`. Returns false for any other link.
    private func startLinking(to inner: Link) -> Bool {
        locked {
            guard phase == .waiting, payload.kind == .adopt else { return false }
            upstream = Upstream(inner)
            return true
        }
    }
}

extension Link {
    /// Makes this source take the outcome of `other`, and runs what follows. Returns false if it was settled.
    @usableFromInline
    @discardableResult
    func follow(_ other: Link) -> Bool {
        var loop = DrainLoop()
        let follows = loop.follow(self, other)
        loop.run()
        return follows
    }

    /// Returns a source that follows this link, and stays attached when it is cancelled.
    @usableFromInline
    func shielded(_ site: DeferredDiagnostic.Location) -> Link {
        let shield = Link(.source, .none, site)
        shield.flags.insert(.shielded)
        shield.follow(self)
        return shield
    }
}
