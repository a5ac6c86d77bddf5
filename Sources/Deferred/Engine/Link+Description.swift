internal import Dispatch

/// What a link is and what it waits for, in words.
extension Link {
    /// The link, and up the chain what it waits for and where each was made, in one line.
    @usableFromInline
    func describe() -> String {
        var parts: [String] = []
        var current: Link? = self
        while let link = current {
            let glance = link.glance()
            parts.append("\(glance.text) (made at \(link.made))")
            current = glance.upstream.first
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
        // What is still to be told, the next last: a chain may be long, and lists stand in lists.
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
            let glance = link.glance()
            lines.append("\(indent)\(glance.text) \(place)")
            if glance.inputs.isEmpty {
                rest += glance.upstream.reversed().map {
                    Mention(link: $0, prefix: "← ", depth: mention.depth)
                }
            } else {
                rest += glance.inputs.enumerated().reversed().compactMap { index, watch in
                    watch.locked({ watch.upstream.retained() }).map {
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
    private struct Glance {
        var text: String
        var upstream: [Link] = []
        /// Of a list: the links that watch its inputs.
        var inputs: [Link] = []
    }

    private func glance() -> Glance {
        let word = lock()
        let isNested = content.kind == .adopt
        let phase = phase
        let isAttached = phase == .waiting || phase == .linking
        let upstream = isAttached ? self.upstream.retained() : nil
        let dispatcher = phase == .handedOver ? content.dispatcher : nil
        let following = phase == .source ? rare?.following ?? [] : []
        let list = phase == .source ? rare?.list : nil
        let pauses = rare?.pauses ?? 0
        let isCancelled = flags.contains(.cancelled)
        unlock(word)

        var glance = Glance(text: "", upstream: upstream.map { [$0] } ?? [])
        switch phase {
        case .settled:
            glance.text = content.describeOutcome()
        case .source:
            if let watches = list?.watches {
                let pending = watches.count { watch in watch.locked { watch.phase == .waiting } }
                glance.text = "waits for \(pending) of a list of \(watches.count)"
                glance.inputs = watches
            } else if !following.isEmpty {
                glance.text = "follows another"
                glance.upstream = following.compactMap { follower in
                    follower.locked { follower.upstream.retained() }
                }
            } else {
                glance.text = isCancelled ? "cancelled, its canceller runs" : "waits to be fired"
            }
        case .handedOver:
            let name = dispatcher.map { ", \($0.nameInWords)" } ?? ""
            glance.text = "its callback waits on its dispatcher\(name)"
        case .running:
            glance.text = "its callback runs"
        case .waiting, .linking, .bypassed:
            glance.text =
                upstream == nil
                ? "waits for its turn" : isNested ? "waits for a nested Deferred" : "waits"
        }
        if pauses > 0 { glance.text += ", paused" + (pauses > 1 ? " \(pauses) times" : "") }
        return glance
    }
}

extension Dispatcher {
    /// The label of a queue that has one, else the type. No code of its author's runs for it.
    var nameInWords: String {
        if let queue = self as? DispatchQueue, !queue.label.isEmpty { return queue.label }
        return self is MainActorDispatcher ? "MainActor" : "\(type(of: self))"
    }
}
