/// Nested results: a link whose callback returned another link waits for it and takes its outcome (L4).
extension DrainLoop {
    /// Makes a running link wait for `inner`, or settles it at once if that has an outcome.
    ///
    /// Sound: `waiter` owns one reference, which is taken out once, before it is replaced by that of the
    /// consumer.
    @inline(never)
    mutating func wait(_ link: consuming Link, for inner: Link) {
        if inner === link { return settle(link, failingWith: .cycle) }
        if Recording.isOn { Recording.note(link, .waits, inner) }
        if inner.peekIfIdle() { return conclude(link, inner.payload.copy()) }

        if link.isDetachedOrPassed {
            // What closes a cycle fails: that is not waited for.
            if link.isPassed, !inner.closesCycle(with: link) { noteAnswer(at: link) }
            // A cancel that comes up to it would not see that it has been put into another list: it becomes a
            // source.
            if link.isDetached {
                if scope != nil { retainScope(with: link) }
                follow(link, inner, from: .running)
                return beginRequests(leftIn: link)
            }
        }

        var waiter = Unmanaged.passRetained(consume link)
        var isBypassed = false
        while scope == nil, waiter.isUniquelyReferenced, let consumer = waiter.bypass(to: inner) {
            let bypassed = waiter.takeRetainedValue()
            waiter = consumer
            isBypassed = true
            if Recording.isOn { Recording.note(bypassed, .bypassed, consumer.takeUnretainedValue()) }
        }
        let link = waiter.takeRetainedValue()
        if isBypassed { return enlist(link, with: inner) }
        if scope != nil { retainScope(with: link) }
        let word = link.lock()
        link.state.wait()
        link.activeThread = 0
        link.payload = .adopt
        link.upstream = Upstream(inner)
        link.unlock(word)
        enlist(link, with: inner)
    }

    /// Puts a waiting link into the list of its upstream, or notifies it at once if that is idle and settled;
    /// then cancels what it waits for, if it was cancelled while it ran (C4).
    private mutating func enlist(_ waiter: Link, with inner: Link) {
        let innerWord = inner.lock()
        // A cancel may have found it waiting by now.
        if waiter.isDetached { return inner.unlock(innerWord) }
        if Link.isIdle(innerWord) { return append(waiter, to: inner, innerWord) }
        if innerWord & Word.settled != 0 {
            let upstream = inner.settledUpstream(innerWord)
            waiter.locked { if waiter.phase == .waiting { waiter.upstream = upstream } }
        }
        inner.unlock(Link.append(waiter, to: innerWord))

        let word = waiter.lock()
        let isWaiting = waiter.phase == .waiting
        let isFollower = waiter.payload.kind == .forward
        let target = isFollower ? waiter.payload.content(as: Link.self) : waiter
        let mayHaveRequests = waiter.coldState != nil
        waiter.unlock(word)
        if waiter.mayLeadToCancellingList { inner.noteLeadsToCancellingList() }
        // If it is not, another thread has it, and whatever was left in it.
        guard isWaiting else { return }

        // Only what waits for the waiter could close a cycle. Searches after both ends are in place, so
        // that of two threads that close one cycle together at least one sees it; and before the cancels,
        // which would have to follow the cycle.
        guard inner.closesCycle(with: target) else {
            if mayHaveRequests { beginRequests(leftIn: waiter) }
            return
        }
        detachPending(waiter, isCyclic: !isFollower)
        guard isFollower else { return }
        // As with one that waits, for a detached link that has become a source: asked after it was detached.
        let isCancelled = target.isDetached && inner.isBeingCancelled(apartFrom: target)
        if isCancelled {
            settle(source: target, .failure(CancellationError()))
        } else {
            settle(target, failingWith: .cycle)
        }
    }

    /// Begins the requests that were left in a link while its step ran, unless another thread has the link
    /// by now, and what was left in it.
    private mutating func beginRequests(leftIn link: Link) {
        let requests = link.locked {
            link.phase == .waiting || link.phase == .source ? link.coldState?.requests.takeAll() ?? [] : []
        }
        begin(requests)
    }

    /// Makes a source take the outcome of `other`, unless something else completes it first; fails it with
    /// `.cycle` if `other` waits for it. Returns false if it was settled.
    @discardableResult
    mutating func follow(_ source: Link, _ other: Link, from phase: Link.Phase = .source) -> Bool {
        let follower = Link(.waiting, .forward(to: source), source.made.of(.hidden))
        follower.upstream = Upstream(other)
        let coldState = source.ensureColdState()
        let following = source.locked {
            let following = source.state.follow(from: phase)
            guard following != .isLate else { return following }
            source.set(Link.Flags.hasFollowed)
            coldState.following.append(follower)
            return following
        }
        guard following != .isLate else { return false }
        if source.mayLeadToCancellingList { follower.set(Link.Flags.mayLeadToCancellingList) }
        other.noteFollower(in: &self)
        if Recording.isOn && phase == .source { Recording.note(source, .follows, other) }
        enlist(follower, with: other)
        if following == .followsToCancel { begin(CancelRequest.securing([follower])) }
        return true
    }

    /// Completes a source with the outcome of what it follows, and settles the follower. Returns false if the
    /// source was settled before.
    ///
    /// In one critical section of the source, so that a cancel that comes up through the source finds both
    /// pending, and is then left in the running follower, or both settled.
    mutating func forward(
        _ outcome: consuming Payload, to source: consuming Link, through follower: Link
    ) -> Bool {
        let word = source.lock()
        let followerWord = follower.lock()
        // They have the follower as their root. Released after the lock. With none left, `finish` begins no cancel while
        // this thread has the lock of the source.
        let requests = follower.coldState?.requests.takeAll()
        let isAnswered = follower.state.marks.contains(.wasProtected)
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

/// Bypassing: where nothing but one consumer, which adopts the outcome, refers to a link that is about to
/// wait, that consumer waits in its place. The finished steps of an asynchronous recursion are thus freed as
/// it runs (L6).
///
/// A link can be bypassed that has no other references, no cold state and no marks: one that runs, or one
/// that adopts an outcome itself, after another was bypassed in its favour.
///
/// A cancel that comes up to a waiting link retains it while it goes on to `inner`, and finds it by the
/// pointer of its consumer, under the consumer's lock. Whether there is another reference is therefore asked
/// under that lock.
///
/// Sound: the caller has the reference that `self` is, and takes over the one that is returned. Under the
/// lock of a link its list retains the link at `last`; the list is emptied in the same critical section.
/// (`Unmanaged`, since without optimisation a copy of the reference would be retained.)
extension Unmanaged<Link> {
    /// Makes the only consumer of this link wait for `inner` in its place, and returns it, with the list's
    /// reference; `nil` where that is not possible.
    fileprivate func bypass(to inner: Link) -> Unmanaged<Link>? {
        let word = _withUnsafeGuaranteedRef { $0.lock() }
        let last = _withUnsafeGuaranteedRef { link in
            let canBeBypassed = link.phase == .running || link.phase == .waiting
            let hasOnlyState = link.coldState == nil && link.state.marks.isEmpty
            return canBeBypassed && hasOnlyState ? Link.only(in: word) : nil
        }
        let isBypassed =
            last?._withUnsafeGuaranteedRef { consumer in
                let consumerWord = consumer.lock()
                defer { consumer.unlock(consumerWord) }
                guard isUniquelyReferenced, consumer.phase == .waiting, consumer.payload.kind == .adopt else {
                    return false
                }
                consumer.upstream = Upstream(inner)
                // Before a cancel can find it by its new upstream, which would unlink it from a list that it
                // is not in.
                consumer.next = nil
                return true
            } ?? false
        _withUnsafeGuaranteedRef { link in
            if isBypassed { link.state.bypass() }
            link.unlock(isBypassed ? 0 : word)
        }
        return isBypassed ? last : nil
    }
}

extension Link {
    /// Makes this source take the outcome of `other`, and runs what follows. Returns false if it was settled.
    @discardableResult
    func follow(_ other: Link) -> Bool {
        DrainLoop.with { $0.follow(self, other) }
    }

    /// Returns a source that follows this link, and stays attached when it is cancelled.
    func shielded(_ site: DeferredDiagnostic.Location) -> Link {
        let shield = Link(.source, .none, site)
        shield.state = LinkState(.source, .shielded)
        shield.follow(self)
        return shield
    }
}

extension Payload {
    static func forward(to source: Link) -> Payload { Payload(.forward, retaining: source) }

    @usableFromInline
    static func wait(for link: Link) -> Payload { Payload(.wait, retaining: link) }

    /// Returns the link of the Deferred that `body` returns, to be waited for.
    @inlinable
    @inline(__always)
    static func nesting(_ body: () throws -> some DeferredConvertible) -> Payload {
        do { return .wait(for: try body().deferred.link) } catch { return .failure(error) }
    }
}
