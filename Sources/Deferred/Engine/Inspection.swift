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
            let snapshot = link.snapshot()
            texts.append("\(indent)\(snapshot.text) \(place)")
            if isShort {
                rest += snapshot.upstream.prefix(1).map { (link: $0, prefix: "", depth: 0) }
            } else if snapshot.inputs.isEmpty {
                rest += snapshot.upstream.reversed().map { (link: $0, prefix: "← ", depth: entry.depth) }
            } else {
                rest += snapshot.inputs.enumerated().reversed().compactMap { index, observer in
                    observer.locked({ observer.upstream.retained() }).map {
                        (link: $0, prefix: "\(index): ", depth: entry.depth + 1)
                    }
                }
            }
        }
        return texts
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
        let upstream = phase == .waiting ? self.upstream.retained() : nil
        let destination = phase == .dispatched ? payload.destination : nil
        let following = phase == .source ? coldState?.following ?? [] : []
        let list = phase == .source ? coldState?.list : nil
        let pauses = coldState?.pauses ?? 0
        let isCancelled = state.marks.contains(.cancelled)
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

/// Whether blocking a thread would mean waiting for that thread.
extension Link {
    /// Whether a link that this one waits for, up the chain and through nested waits to a source, has yet to
    /// run on `thread`, the current one: a callback that this is called from, what is notified after that, or
    /// a callback on the main queue while this is the main queue.
    ///
    /// True only if that is certain, cancels aside: not for what a timeout may settle first. Each link is
    /// read at another moment. That suffices: what waits for this thread does so while it searches.
    func waits(forWhatRunsOn thread: UInt) -> Bool {
        // Known by the label: a mark of our own could be set only from off the queue.
        let isOnMainQueue = Platform.currentQueueLabel == DispatchQueue.main.label
        var walk = Walk(from: self)
        var isFound = false
        while walk.next({ link, _ in
            let (isHere, destination, upstream) = link.nextToRun(on: thread)
            isFound = isHere || isOnMainQueue && destination?.isMainQueue ?? false
            return isFound ? nil : upstream
        }) != nil {}
        return isFound
    }

    /// Returns whether the link's step, or the notification of its consumers, is in progress on `thread`;
    /// where its step is to run; and what it waits for, if nothing else can settle it first.
    private func nextToRun(on thread: UInt) -> (isHere: Bool, DispatchedStep.Destination?, upstream: Link?) {
        locked {
            switch phase {
            case .running, .detached:
                return (activeThread == thread, nil, nil)
            case .settled:
                let isDraining = word.load(ordering: .relaxed) & Word.draining != 0
                return (isDraining && activeThread == thread, nil, nil)
            case .dispatched:
                return (false, payload.destination, nil)
            case .waiting:
                let mayEnd = isDetached || made.origin == .timeout
                return (false, payload.destination, mayEnd ? nil : upstream.retained())
            case .source, .bypassed:
                return (false, nil, nil)
            }
        }
    }
}

extension DispatchedStep.Destination {
    /// Whether work submitted there runs on the main queue, known by its label: two objects may stand for one
    /// queue.
    fileprivate var isMainQueue: Bool {
        type == MainActorDispatcher.self || queue.map { $0.label == DispatchQueue.main.label } ?? false
    }
}
