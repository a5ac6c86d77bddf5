/// Finds rings (L5): a link may not wait for what waits for it.
extension Link {
    /// Whether this link waits for `target`, straight or through nested waits, lists and links that follow.
    ///
    /// Looked for from both ends in turn, up from here and down from `target`, since either side may be a chain of a
    /// million links: it costs no more than twice the smaller side.
    func waits(for target: Link) -> Bool {
        var up = Walk(from: self)
        var down = Walk(from: target)
        while true {
            guard let above = up.next({ $0.waitsFor }) else { return false }
            if above === target { return true }
            guard let below = down.next({ $0.waitedForBy }) else { return false }
            if below === self { return true }
        }
    }

    private struct Walk {
        private var pending: [Link]
        private var seen: Set<ObjectIdentifier> = []

        init(from start: Link) { pending = [start] }

        mutating func next(_ neighbours: (Link) -> [Link]) -> Link? {
            while let link = pending.popLast() {
                guard seen.insert(ObjectIdentifier(link)).inserted else { continue }
                pending.append(contentsOf: neighbours(link))
                return link
            }
            return nil
        }
    }

    private var waitsFor: [Link] {
        var list: ListState?
        let links: [Link] = locked {
            switch phase {
            case .waiting, .linking:
                return upstream.retained().map { [$0] } ?? []
            case .source:
                list = rare?.list
                return rare?.following ?? []
            case .handedOver, .running, .settled, .bypassed:
                return []
            }
        }
        return links + (list?.watches ?? [])
    }

    private var waitedForBy: [Link] {
        let word = lock()
        guard phase != .settled else {
            unlock(word)
            return []
        }
        var links = listed(in: word)
        var list: ListState?
        switch content.kind {
        case .forward: links.append(content.reference(as: Link.self))
        case .watch: list = content.reference(as: ListState.self)
        default: break
        }
        unlock(word)
        if let link = list?.link { links.append(link) }
        return links
    }
}
