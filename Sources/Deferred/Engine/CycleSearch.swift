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
        locked {
            switch phase {
            case .waiting, .linking: upstream.map { [$0.takeUnretainedValue()] } ?? []
            case .source: (rare?.following ?? []) + (rare?.list?.watches ?? [])
            case .handedOver, .running, .settled, .bypassed: []
            }
        }
    }

    private var waitedForBy: [Link] {
        let word = lock()
        var links = listed(in: word)
        switch content {
        case .forward(let target): links.append(target)
        case .watch(let list, _): links.append(list.link)
        default: break
        }
        unlock(word)
        return links
    }
}
