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
    /// Whether all that this link waits for, up the chain and through lists and links that follow, has yet to
    /// run on `thread`, the current one: a callback that this is called from, what is notified after that, or
    /// a callback on the main queue while this is the main queue.
    ///
    /// True only if that is certain, cancels aside: not for what another thread, or a timeout, may settle
    /// first. Each link is read at another moment. That suffices: what waits for this thread does so while it
    /// searches.
    func waits(forWhatRunsOn thread: UInt) -> Bool {
        // Known by the label: a mark of our own could be set only from off the queue.
        let isOnMainQueue = Platform.currentQueueLabel == DispatchQueue.main.label
        var walk = Walk(from: self)
        var isFoundHere = false
        var mayEndElsewhere = false
        while !mayEndElsewhere,
            walk.next({ link, others in
                let links = link.linksToSettleFirst(thread, isOnMainQueue)
                if links == nil { mayEndElsewhere = true }
                if let links, links.isEmpty { isFoundHere = true }
                others += links ?? []
                return others.popLast()
            }) != nil
        {}
        return isFoundHere && !mayEndElsewhere
    }

    /// Returns what has to settle before this link settles, or notifies a new consumer: these links, or one
    /// of them; none if something has yet to run on `thread`; `nil` if it may happen elsewhere, or is not
    /// known.
    private func linksToSettleFirst(_ thread: UInt, _ isOnMainQueue: Bool) -> [Link]? {
        let word = lock()
        switch phase {
        case .settled, .running, .detached:
            let isActive = phase != .settled || word & Word.draining != 0
            let isHere = isActive && activeThread == thread
            unlock(word)
            return isHere ? [] : nil
        case .waiting, .dispatched:
            let destination = payload.destination
            let mayEnd = phase == .dispatched || isDetached || made.origin == .timeout
            let upstream = mayEnd ? nil : upstream.retained()
            unlock(word)
            if isOnMainQueue, let destination, destination.isMainQueue { return [] }
            return upstream.map { [$0] }
        case .source:
            let list = coldState?.list
            let following = isCompletedOnlyByFollowing ? coldState?.following ?? [] : []
            unlock(word)
            let links = list?.decidingObservers ?? following
            return links.isEmpty ? nil : links
        case .bypassed:
            unlock(word)
            return nil
        }
    }
}

extension Link {
    /// Whether, a cancel aside, only what this source follows can settle it: not its handles, nor completion
    /// rights, which have the other references to `sourceReference`. Under its lock.
    fileprivate var isCompletedOnlyByFollowing: Bool {
        if isCompletedByHandles { return false }
        let hasRights = sourceReference != nil && !isKnownUniquelyReferenced(&sourceReference)
        return coldState?.completesOnlyByFollowing ?? false || !hasRights
    }
}

extension DispatchedStep.Destination {
    /// Whether work submitted there runs on the main queue, known by its label: two objects may stand for one
    /// queue.
    fileprivate var isMainQueue: Bool {
        type == MainActorDispatcher.self || queue.map { $0.label == DispatchQueue.main.label } ?? false
    }
}
