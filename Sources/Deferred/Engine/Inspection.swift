internal import Dispatch

/// What a link is and what it waits for, in words.
extension Link {
    /// The link, and up the chain what it waits for and where each was made, in one line.
    @usableFromInline
    func describe() -> String { descriptions(atMost: 16, isShort: true).joined(separator: " ← ") }

    /// The link, and all that it waits for, a line each: up the chain, and for a list into each of its
    /// inputs.
    @usableFromInline
    func describeChain() -> String { descriptions(atMost: 1000, isShort: false).joined(separator: "\n") }

    private func descriptions(atMost greatestCount: Int, isShort: Bool) -> [String] {
        var texts: [String] = []
        var seen: Set<ObjectIdentifier> = []
        // What is still to be described, the next one last: chains may be long, and lists nested in lists.
        var rest = [(link: self, prefix: "", depth: 0)]
        while let entry = rest.popLast() {
            if texts.count == greatestCount { return texts + ["…"] }
            let link = entry.link
            let indent = String(repeating: "  ", count: entry.depth) + entry.prefix
            let place = "(\(isShort ? "" : "\(link.made.origin), ")made at \(link.made))"
            guard seen.insert(ObjectIdentifier(link)).inserted else {
                texts.append("\(indent)the same as above \(place)")
                continue
            }
            let (text, upstream) = link.snapshot()
            texts.append("\(indent)\(text) \(place)")
            if isShort {
                rest += upstream.prefix(1).filter { $0.depth == 0 }.map { ($0.link, "", 0) }
            } else {
                rest += upstream.reversed().map { ($0.link, $0.prefix, entry.depth + $0.depth) }
            }
        }
        return texts
    }

    /// Returns what the link is doing, and what it waits for: the inputs of a list are one deeper than that.
    private func snapshot() -> (text: String, upstream: [(link: Link, prefix: String, depth: Int)]) {
        let word = lock()
        let isNested = payload.kind == .adopt
        let phase = phase
        var upstream = (phase == .waiting ? self.upstream.retained() : nil).map { [($0, "← ", 0)] } ?? []
        let destination = phase == .dispatched ? payload.destination : nil
        let following = phase == .source ? coldState?.following ?? [] : []
        let list = phase == .source ? coldState?.list : nil
        let pauses = coldState?.pauses ?? 0
        let isCancelled = state.marks.contains(.cancelled)
        unlock(word)

        var text: String
        switch phase {
        case .settled:
            text = payload.describeOutcome()
        case .source:
            if let observers = list?.observers {
                let pending = observers.count { observer in observer.locked { observer.phase == .waiting } }
                text = "waits for \(pending) of a list of \(observers.count)"
                upstream = observers.enumerated().compactMap { index, observer in
                    observer.waitedFor.map { ($0, "\(index): ", 1) }
                }
            } else if !following.isEmpty {
                text = "follows another"
                upstream = following.compactMap { $0.waitedFor.map { ($0, "← ", 0) } }
            } else {
                text = isCancelled ? "cancelled, its canceller runs" : "waits to be completed"
            }
        case .dispatched:
            text = "its callback waits on its dispatcher" + (destination.map { ", \($0.name)" } ?? "")
        case .running, .failing:
            text = "its callback runs"
        case .waiting, .bypassed:
            let waits = isNested ? "waits for a nested Deferred" : "waits"
            text = upstream.isEmpty ? "waits for its turn" : waits
        }
        if pauses > 0 { text += ", paused" + (pauses > 1 ? " \(pauses) times" : "") }
        return (text, upstream)
    }

    // MARK: Whether blocking a thread would mean waiting for that thread

    /// Whether a link that this one waits for, up the chain and through nested waits to a source, has yet to
    /// run on `thread`, the current one: a callback that this is called from, what is notified after that, or
    /// a callback on the main queue while this is the main queue.
    ///
    /// True only if that is certain, cancels aside: not for what a timeout may settle first. Each link is
    /// read at another moment. That suffices: what waits for this thread does so while it searches.
    func waits(forWhatRunsOn thread: UInt) -> Bool {
        let isOnMainQueue = Platform.isOnMainQueue
        return finds { link, isFound in
            link.locked {
                var upstream: Link?
                switch link.phase {
                case .running, .failing:
                    isFound = link.activeThread == thread
                case .settled:
                    let isDraining = link.word.load(ordering: .relaxed) & Word.draining != 0
                    isFound = isDraining && link.activeThread == thread
                case .waiting where !link.isDetached && link.made.origin != .timeout:
                    upstream = link.upstream.retained()
                    fallthrough
                case .waiting, .dispatched:
                    isFound = isOnMainQueue && link.payload.destination?.isMainQueue ?? false
                case .source where link.isDetached:
                    // A cancel has detached it, and its step has returned a link to wait for: nothing else completes it.
                    upstream = link.coldState?.following.first
                case .source, .bypassed:
                    break
                }
                return upstream
            }
        }
    }
}
