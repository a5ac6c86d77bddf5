/// Finds cycles (L5): a link may not wait for what waits for it.
extension Link {
    /// Whether this link waits for `target`, directly or through nested waits, lists and links that follow.
    ///
    /// Searches from both ends alternately, up from here and down from `target`, since either side may be a
    /// chain of a million links: the cost is at most twice that of the smaller side.
    func waits(for target: Link) -> Bool {
        if self === target { return true }
        var up = Walk(from: self)
        var down = Walk(from: target)
        var isFound = false
        while true {
            _ = up.next { $0.waitsFor(target, &isFound, &$1) }
            if isFound { return true }
            if up.isOver { return false }
            guard let below = down.next({ $0.waitedForBy(&$1) }) else { return false }
            if below === self { return true }
        }
    }

    /// Whether a link that completes `target` and waits for this one closes a cycle. (Only what waits for
    /// `target` can.)
    func closesCycle(with target: Link) -> Bool {
        self === target
            || target.word.load(ordering: .acquiring) & ~Word.flags != 0 && waits(for: target)
    }

    /// A walk from link to link. Most chains never branch, and need no memory to walk along.
    private struct Walk {
        private var current: Link?
        /// Branches that are still to be visited.
        private var others: [Link] = []
        /// The links visited since the first branch, or the 64th link. (Two threads may have closed a cycle
        /// elsewhere that neither has broken yet: even then this ends.)
        private var seen: Set<ObjectIdentifier> = []
        private var steps = 0

        init(from start: Link) { current = start }

        /// Whether no link is left to visit.
        var isOver: Bool { current == nil && others.isEmpty }

        /// Returns the next link. The walk then continues with its neighbours: the one that the closure
        /// returns, and those that it appends.
        mutating func next(_ neighbours: (Link, inout [Link]) -> Link?) -> Link? {
            while let link = current ?? others.popLast() {
                current = nil
                steps += 1
                if steps > 64 || !others.isEmpty || !seen.isEmpty {
                    guard seen.insert(ObjectIdentifier(link)).inserted else { continue }
                }
                current = neighbours(link, &others)
                return link
            }
            return nil
        }
    }

    /// Returns what this link waits for. `isTarget` says whether `target` is among that: a plain source is
    /// not visited.
    private func waitsFor(_ target: Link, _ isTarget: inout Bool, _ others: inout [Link]) -> Link? {
        let word = lock()
        switch phase {
        case .waiting:
            isTarget = upstream.identity == Upstream(target).identity
            let link = isTarget || upstream.isPlainSource ? nil : upstream.retained()
            unlock(word)
            return link
        case .source:
            let coldState = coldState
            let list = coldState?.list
            if let coldState { others += coldState.following }
            unlock(word)
            if let list { others += list.observers }
            isTarget = others.contains { $0 === target }
            return others.popLast()
        case .detached, .dispatched, .running, .settled, .bypassed:
            unlock(word)
            return nil
        }
    }

    private func waitedForBy(_ others: inout [Link]) -> Link? {
        let word = lock()
        guard phase != .settled else {
            unlock(word)
            return nil
        }
        let first = firstListed(in: word, others: &others)
        var list: ListState?
        switch payload.kind {
        case .forward: others.append(payload.reference(as: Link.self))
        case .observer: list = payload.reference(as: ListState.self)
        default: break
        }
        unlock(word)
        if let link = list?.link { others.append(link) }
        return first ?? others.popLast()
    }
}
