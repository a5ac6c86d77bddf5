/// What a link is and what it waits for, in words.
extension Link {
    /// The link, and up the chain what it waits for and where each was made, in one line.
    @usableFromInline
    func describe() -> String {
        var parts: [String] = []
        var current: Link? = self
        while let link = current {
            let snapshot = link.snapshot()
            parts.append("\(snapshot.text) (made at \(link.made))")
            current = snapshot.upstream.first
            if parts.count == 16 && current != nil {
                parts.append("…")
                break
            }
        }
        return parts.joined(separator: " ← ")
    }

    /// The link, and all that it waits for, a line each: up the chain, and for a list into each of its
    /// inputs.
    @usableFromInline
    func describeChain() -> String {
        let greatestCount = 1000
        var lines: [String] = []
        var seen: Set<ObjectIdentifier> = []
        // What is still to be described, the next one last: chains may be long, and lists nested in lists.
        var rest = [Mention(link: self, prefix: "", depth: 0)]
        while let mention = rest.popLast() {
            if lines.count == greatestCount {
                lines.append("…")
                break
            }
            let link = mention.link
            let indent = String(repeating: "  ", count: mention.depth) + mention.prefix
            let place = "(\(link.made.origin), made at \(link.made))"
            guard seen.insert(ObjectIdentifier(link)).inserted else {
                lines.append("\(indent)the same as above \(place)")
                continue
            }
            let snapshot = link.snapshot()
            lines.append("\(indent)\(snapshot.text) \(place)")
            if snapshot.inputs.isEmpty {
                rest += snapshot.upstream.reversed().map {
                    Mention(link: $0, prefix: "← ", depth: mention.depth)
                }
            } else {
                rest += snapshot.inputs.enumerated().reversed().compactMap { index, observer in
                    observer.locked({ observer.upstream.retained() }).map {
                        Mention(link: $0, prefix: "\(index): ", depth: mention.depth + 1)
                    }
                }
            }
        }
        return lines.joined(separator: "\n")
    }

    private struct Mention {
        let link: Link
        let prefix: String
        let depth: Int
    }

    /// What a link is doing, and what it waits for.
    private struct Snapshot {
        var text: String
        var upstream: [Link] = []
        /// For a list: the observers of its inputs.
        var inputs: [Link] = []
    }

    private func snapshot() -> Snapshot {
        let word = lock()
        let isNested = payload.kind == .adopt
        let phase = phase
        let isAttached = phase == .waiting
        let upstream = isAttached ? self.upstream.retained() : nil
        let destination = phase == .dispatched ? payload.destination : nil
        let following = phase == .source ? coldState?.following ?? [] : []
        let list = phase == .source ? coldState?.list : nil
        let pauses = coldState?.pauses ?? 0
        let isCancelled = flags.contains(.cancelled)
        unlock(word)

        var snapshot = Snapshot(text: "", upstream: upstream.map { [$0] } ?? [])
        switch phase {
        case .settled:
            snapshot.text = payload.describeOutcome()
        case .source:
            if let observers = list?.observers {
                let pending = observers.count { observer in observer.locked { observer.phase == .waiting } }
                snapshot.text = "waits for \(pending) of a list of \(observers.count)"
                snapshot.inputs = observers
            } else if !following.isEmpty {
                snapshot.text = "follows another"
                snapshot.upstream = following.compactMap { follower in
                    follower.locked { follower.upstream.retained() }
                }
            } else {
                snapshot.text = isCancelled ? "cancelled, its canceller runs" : "waits to be fired"
            }
        case .dispatched:
            let name = destination.map { ", \($0.name)" } ?? ""
            snapshot.text = "its callback waits on its dispatcher\(name)"
        case .running, .detached:
            snapshot.text = "its callback runs"
        case .waiting, .bypassed:
            snapshot.text =
                upstream == nil
                ? "waits for its turn" : isNested ? "waits for a nested Deferred" : "waits"
        }
        if pauses > 0 { snapshot.text += ", paused" + (pauses > 1 ? " \(pauses) times" : "") }
        return snapshot
    }
}
