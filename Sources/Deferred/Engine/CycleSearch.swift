/// Finds rings (L5): a link may not wait for what waits for it.
extension Link {
    /// Whether this link waits for `target`, straight or through nested waits, lists and links that follow.
    ///
    /// Looked for from both ends in turn, up from here and down from `target`, since either side may be a
    /// chain of a million links: it costs no more than twice the smaller side.
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

    /// Goes from link to link. Most chains never part, and need no memory to walk along.
    private struct Walk {
        private var current: Link?
        /// Where the way parted: what is still to be visited.
        private var others: [Link] = []
        /// What was visited since the way parted, or grew long. (Two threads may have closed a ring elsewhere
        /// that neither has opened yet: even then this ends.)
        private var seen: Set<ObjectIdentifier> = []
        private var steps = 0

        init(from start: Link) { current = start }

        /// Whether there is nowhere left to go.
        var isOver: Bool { current == nil && others.isEmpty }

        /// The next link, after which the walk goes on with its neighbours: the one given back, and those
        /// appended.
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

    /// What this link waits for; whether `target` is among it is told apart, since a plain source is not
    /// worth the going to.
    private func waitsFor(_ target: Link, _ isTarget: inout Bool, _ others: inout [Link]) -> Link? {
        let word = lock()
        switch phase {
        case .waiting, .linking:
            isTarget = upstream.identity == Upstream(target).identity
            let link = isTarget || upstream.isPlainSource ? nil : upstream.retained()
            unlock(word)
            return link
        case .source:
            let rare = rare
            let list = rare?.list
            if let rare { others += rare.following }
            unlock(word)
            if let list { others += list.watches }
            isTarget = others.contains { $0 === target }
            return others.popLast()
        case .handedOver, .running, .settled, .bypassed:
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
        switch content.kind {
        case .forward: others.append(content.reference(as: Link.self))
        case .watch: list = content.reference(as: ListState.self)
        default: break
        }
        unlock(word)
        if let link = list?.link { others.append(link) }
        return first ?? others.popLast()
    }
}
