/// Cycles (L5): a link may not wait for what waits for it.
extension Link {
    /// Whether a link that completes `target` and waits for this one closes a cycle: whether this link waits for
    /// `target`, directly or through nested waits, lists and links that follow. (Only what waits for `target`
    /// can.)
    ///
    /// Searches from both ends in turn, up from here and down from `target`, since either side may be a chain of a
    /// million links, or have a million consumers: each time twice as far, so that the cost is at most a few times that
    /// of the smaller side (K1).
    func closesCycle(with target: Link) -> Bool {
        if self === target { return true }
        if target.word.load(ordering: .acquiring) & ~Word.flags == 0 { return false }
        var up = Walk(from: self, past: target.firstFollowed)
        var down = Walk(from: target)
        var isFound = false
        var budget = 8
        while true {
            up.visit(budget) { $0.waitsFor(target, &isFound, &$1, budget) }
            if isFound { return true }
            if up.isOver { return false }
            down.visit(budget) { link, others in
                isFound = link === self
                return isFound ? .stop : link.waitedForBy(&others, budget)
            }
            if isFound { return true }
            if down.isOver { return false }
            budget *= 2
        }
    }

    /// What this source followed first. A search for a cycle that it closes by following something else need not
    /// go past that: the thread that made it follow the first, or later closed a cycle above it, searches there.
    private var firstFollowed: Link? {
        hasFollowed ? locked { coldState?.following.first }?.waitedFor : nil
    }

    /// Returns what this link waits for. `isTarget` says whether `target` is among that: a plain source is
    /// not visited.
    private func waitsFor(
        _ target: Link, _ isTarget: inout Bool, _ others: inout [Link], _ limit: Int
    ) -> Walk.Visit {
        let word = lock()
        switch phase {
        case .waiting:
            isTarget = upstream.isSame(as: target)
            let link = isTarget || upstream.isPlainSource ? nil : upstream.retained()
            unlock(word)
            return isTarget ? .stop : link.map { .next($0) } ?? .end
        case .source:
            let coldState = coldState
            let list = coldState?.list
            let following = coldState?.following ?? []
            unlock(word)
            if following.count + (list?.observerCount ?? 0) > limit { return .tooWide }
            let found = following + (list?.observers ?? [])
            isTarget = found.contains { $0 === target }
            others += found
            return isTarget ? .stop : .end
        case .failing, .dispatched, .running, .settled, .bypassed:
            unlock(word)
            return .end
        }
    }

    /// Returns what waits for this link.
    func waitedForBy(_ others: inout [Link], _ limit: Int) -> Walk.Visit {
        let word = lock()
        guard phase != .settled else {
            unlock(word)
            return .end
        }
        let start = others.count
        let isTooWide = Link.contains(in: word) { consumer in
            if others.count - start == limit { return true }
            others.append(consumer)
            return false
        }
        var list: SourceList?
        switch payload.kind {
        case .forward: others.append(payload.content(as: Link.self))
        case .observer: list = payload.content(as: SourceList.self)
        default: break
        }
        unlock(word)
        if isTooWide {
            // Released after the lock.
            others.removeSubrange(start...)
            return .tooWide
        }
        if let link = list?.link { others.append(link) }
        return .end
    }
}
