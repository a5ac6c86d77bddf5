/// Nested results: a link whose callback gave another link waits for it and takes its outcome (L4).
extension Frame {
    mutating func wait(_ link: inout Link, for inner: Link) {
        if inner === link { return settle(link, .failure(DeferredError.cycle)) }
        if Link.isIdle(inner.word.load(ordering: .acquiring)) { return settle(link, inner.takeLook()) }

        // It still stands in the list that it withdrew from, so it cannot stand in another.
        if link.withdrawn { return follow(inner, by: link) }

        if !hasScope, isKnownUniquelyReferenced(&link), let waiter = link.bypass(to: inner) {
            enlist(waiter, with: inner)
        } else {
            holdScope(with: link)
            let word = link.lock()
            link.phase = .linking
            link.content = .adopt
            link.upstream = Upstream(inner)
            // The cancel that came while the callback ran is for the nested one now, not for those downstream.
            let consumers = link.flags.contains(.cancelPending) ? link.listed(in: word) : []
            link.unlock(word)
            for consumer in consumers { consumer.locked { _ = consumer.flags.remove(.cancelPending) } }
            enlist(link, with: inner)
        }
    }

    /// Puts a `linking` link into the list of the one it is to wait for.
    private mutating func enlist(_ waiter: Link, with inner: Link) {
        let innerWord = inner.lock()
        if Link.isIdle(innerWord) {
            inner.unlock(innerWord)
            waiter.locked {
                waiter.phase = .running
                waiter.upstream = .none
            }
            return settle(waiter, inner.takeLook())
        }
        let isPending = innerWord & Word.settled == 0
        inner.unlock(Link.append(waiter, to: innerWord))

        let word = waiter.lock()
        guard waiter.phase == .linking else {
            // Told already, by another thread.
            return waiter.unlock(word)
        }
        waiter.phase = .waiting
        if !isPending { waiter.upstream = .none }
        let isCancelled = isPending && waiter.flags.remove(.cancelPending) != nil
        let hasConsumers = word & ~Word.flags != 0
        waiter.unlock(word)

        if isCancelled { cancel(waiter) }
        // Only what waits for the waiter could close a ring. Looked for after both ends are in place, so that of two
        // threads that close one ring together at least one sees it.
        if hasConsumers && inner.waits(for: waiter) {
            withdraw(waiter, settlingWith: .failure(DeferredError.cycle))
        }
    }

    /// Makes a running link a source that fires as `inner` fires.
    private mutating func follow(_ inner: Link, by link: Link) {
        holdScope(with: link)
        let isCancelled = link.locked {
            link.phase = .source
            return link.flags.remove(.cancelPending) != nil
        }
        follow(link, inner)
        if isCancelled { cancel(link) }
    }

    /// Makes a source fire as `other` fires, unless something else fires it first; fails it with `.cycle` if `other`
    /// waits for it. False if it had fired.
    @discardableResult
    mutating func follow(_ source: Link, _ other: Link) -> Bool {
        let follower = Link(.waiting, .forward(to: source), source.made)
        let rare = source.ensureRare()
        let isPending = source.locked {
            guard source.phase == .source else { return false }
            rare.following.append(follower)
            return true
        }
        guard isPending else { return false }
        other.attach(follower)
        // As in `enlist`: looked for once both ends are in place.
        let hasConsumers = source.word.load(ordering: .acquiring) & ~Word.flags != 0
        if other === source || (hasConsumers && other.waits(for: source)) {
            withdraw(follower)
            _ = fire(source, .failure(DeferredError.cycle))
        }
        return true
    }
}

extension Link {
    /// L6: nobody has a handle to this link, and all that waits for it is one link that will take its outcome as it is.
    /// Then that one can wait for `inner` in its place, and this one can go: the finished steps of an asynchronous
    /// recursion are freed as it runs. Gives that one, `linking`, or nil if this link has anything to it that could
    /// be noticed.
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

    /// Makes a link that would take its outcome as it is wait for `inner` instead; false if it is not such a link.
    private func startLinking(to inner: Link) -> Bool {
        locked {
            guard phase == .waiting, content.kind == .adopt else { return false }
            phase = .linking
            upstream = Upstream(inner)
            return true
        }
    }
}
