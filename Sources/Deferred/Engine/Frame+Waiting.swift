/// Nested results: a link whose callback gave another link waits for it and takes its outcome (L4).
extension Frame {
    mutating func wait(_ link: inout Link, for inner: Link) {
        if inner === link { return settle(link, .failure(DeferredError.cycle)) }
        if Recording.isOn { Recording.waits(link, for: inner) }
        if Link.isIdle(inner.word.load(ordering: .acquiring)) { return settle(link, inner.takeLook()) }

        // It still stands in the list that it withdrew from, so it cannot stand in another.
        if link.withdrawn { return follow(inner, by: link) }

        if !hasScope, isKnownUniquelyReferenced(&link), let waiter = link.bypass(to: inner) {
            if Recording.isOn { Recording.bypassed(link, by: waiter) }
            enlist(waiter, with: inner)
        } else {
            holdScope(with: link)
            let word = link.lock()
            link.phase = .linking
            link.teller = 0
            link.content = .adopt
            link.upstream = Upstream(inner)
            // The cancel that came while the callback ran is for the nested one now, not for those
            // downstream.
            let consumers = link.flags.contains(.cancelPending) ? link.listed(in: word) : []
            link.unlock(word)
            for consumer in consumers { consumer.locked { _ = consumer.flags.remove(.cancelPending) } }
            enlist(link, with: inner)
        }
    }

    /// Puts a `linking` link into the list of the one it is to wait for, or does what it is to do if that has
    /// fired.
    private mutating func enlist(_ waiter: Link, with inner: Link) {
        let innerWord = inner.lock()
        if Link.isIdle(innerWord) {
            inner.unlock(innerWord)
            var waiter = waiter
            let word = waiter.lock()
            let content = waiter.startRunning(on: thread)
            let isCancelled = waiter.flags.remove(.cancelPending) != nil
            waiter.unlock(word)
            if isCancelled {
                performCancelled(content, on: &waiter)
            } else if perform(content, on: &waiter, with: inner.content) {
                _ = inner.look()
            }
            return
        }
        let isPending = innerWord & Word.settled == 0
        let teller = innerWord & Word.busy == 0 ? 0 : inner.teller
        inner.unlock(Link.append(waiter, to: innerWord))

        let word = waiter.lock()
        guard waiter.phase == .linking else {
            // Told already, by another thread.
            return waiter.unlock(word)
        }
        waiter.phase = .waiting
        if !isPending {
            waiter.upstream = .none
            waiter.teller = teller
        }
        let isCancelled = isPending && waiter.flags.remove(.cancelPending) != nil
        let isOver = waiter.flags.contains(.withdrawsOnceLinked)
        let isFollower = waiter.content.kind == .forward
        let target = isFollower ? waiter.content.reference(as: Link.self) : waiter
        let targetWord = isFollower ? target.word.load(ordering: .acquiring) : word
        waiter.unlock(word)

        if isOver { return withdraw(waiter) }
        if isCancelled { cancel(waiter) }
        // Only what waits for the waiter could close a ring. Looked for after both ends are in place, so that
        // of two threads that close one ring together at least one sees it.
        guard inner === target || (targetWord & ~Word.flags != 0 && inner.waits(for: target)) else { return }
        if isFollower {
            withdraw(waiter)
            _ = fire(target, .failure(DeferredError.cycle))
        } else {
            withdraw(waiter, settlingWith: .failure(DeferredError.cycle))
        }
    }

    /// Makes a running link, which cannot stand in another list, a source that fires as `inner` fires.
    private mutating func follow(_ inner: Link, by link: Link) {
        holdScope(with: link)
        follow(link, inner, from: .running)
        if link.locked({ link.flags.remove(.cancelPending) != nil }) { cancel(link) }
    }

    /// Makes a source fire as `other` fires, unless something else fires it first; fails it with `.cycle` if
    /// `other` waits for it. False if it had fired.
    @discardableResult
    mutating func follow(_ source: Link, _ other: Link, from phase: Link.Phase = .source) -> Bool {
        let follower = Link(.linking, .forward(to: source), source.made.of(.hidden))
        follower.upstream = Upstream(other)
        let rare = source.ensureRare()
        let isPending = source.locked {
            guard source.phase == phase else { return false }
            source.phase = .source
            source.hasFollowed = true
            rare.following.append(follower)
            return true
        }
        if Recording.isOn && isPending && phase == .source { Recording.follows(source, other) }
        if isPending { enlist(follower, with: other) }
        return isPending
    }
}

extension Link {
    /// L6: nobody has a handle to this link, and all that waits for it is one link that will take its outcome
    /// as it is. Then that one can wait for `inner` in its place, and this one can go: the finished steps of
    /// an asynchronous recursion are freed as it runs. Gives that one, `linking`, or nil if this link has
    /// anything to it that could be noticed.
    fileprivate func bypass(to inner: Link) -> Link? {
        let word = lock()
        guard rare == nil, flags.isEmpty, let last = Link.last(in: word),
            last._withUnsafeGuaranteedRef({ $0.standsAlone && $0.startLinking(to: inner) })
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

    /// Whether a link is the only one in its list, and consumes. Under the lock of the list's link.
    private var standsAlone: Bool {
        !withdrawn && next?.toOpaque() == Unmanaged.passUnretained(self).toOpaque()
    }

    /// Makes a link that would take its outcome as it is wait for `inner` instead; false if it is not such a
    /// link.
    private func startLinking(to inner: Link) -> Bool {
        locked {
            guard phase == .waiting, content.kind == .adopt else { return false }
            phase = .linking
            upstream = Upstream(inner)
            return true
        }
    }
}
