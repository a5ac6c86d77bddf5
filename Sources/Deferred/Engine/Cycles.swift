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
        case .detached, .dispatched, .running, .settled, .bypassed:
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
        var list: ListObserver?
        switch payload.kind {
        case .forward: others.append(payload.content(as: Link.self))
        case .observer: list = payload.content(as: ListObserver.self)
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

/// A walk from link to link. Most chains never branch, and need no memory to walk along.
struct Walk {
    /// What a visit to a link finds.
    enum Visit {
        /// The walk continues there.
        case next(Link)
        /// It continues with the others that the visit has appended, or with those that are left.
        case end
        /// What was searched for is found.
        case stop
        /// The link has more neighbours than the visit may append. It is visited again.
        case tooWide
    }

    private var current: Link?
    /// Branches that are still to be visited.
    private var others: [Link] = []
    /// The links visited since the first branch, or the 64th link. (Two threads may have closed a cycle
    /// elsewhere that neither has broken yet: even then this ends.)
    private var seen: Set<ObjectIdentifier> = []
    private var steps = 0
    private let boundary: Link?

    /// - Parameter boundary: A link that is not visited, unless it is the first.
    init(from start: Link, past boundary: Link? = nil) {
        current = start
        self.boundary = boundary
        if let boundary, boundary !== start { seen = [ObjectIdentifier(boundary)] }
    }

    /// Whether no link is left to visit.
    var isOver: Bool { current == nil && others.isEmpty }

    /// Visits `count` links at most, counting those that are found on the way, and ends early at one that is too wide.
    mutating func visit(_ count: Int, _ visit: (Link, inout [Link]) -> Visit) {
        var rest = count
        while rest > 0, let link = current ?? others.popLast() {
            current = nil
            steps += 1
            if steps > 64 || !others.isEmpty || !seen.isEmpty {
                guard seen.insert(ObjectIdentifier(link)).inserted else { continue }
            }
            let before = others.count
            switch visit(link, &others) {
            case .next(let next): current = next
            case .end: break
            case .stop: return
            case .tooWide:
                seen.remove(ObjectIdentifier(link))
                current = link
                return
            }
            rest -= 1 + others.count - before
        }
    }

    /// Visits the next link, however many neighbours it has, and returns it; nil if none is left. The walk then continues
    /// with the neighbours: the one that the closure returns, and those that it appends.
    mutating func next(_ neighbours: (Link, inout [Link]) -> Link?) -> Link? {
        var visited: Link?
        while visited == nil, !isOver {
            visit(1) { link, others in
                visited = link
                return neighbours(link, &others).map { .next($0) } ?? .end
            }
        }
        return visited
    }
}

extension Link {
    /// Walks up from this link, to what the closure returns, until that sets its last argument; returns whether it did.
    func finds(_ visit: (_ link: Link, _ isFound: inout Bool) -> Link?) -> Bool {
        var walk = Walk(from: self)
        var isFound = false
        while !isFound, walk.next({ link, _ in visit(link, &isFound) }) != nil {}
        return isFound
    }
}
