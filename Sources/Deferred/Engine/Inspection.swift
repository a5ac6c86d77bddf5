internal import Dispatch

#if canImport(CDispatch)
internal import CDispatch
#endif

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
        var rest = [Entry(link: self, prefix: "", depth: 0)]
        while let entry = rest.popLast() {
            if lines.count == greatestCount {
                lines.append("…")
                break
            }
            let link = entry.link
            let indent = String(repeating: "  ", count: entry.depth) + entry.prefix
            let place = "(\(link.made.origin), made at \(link.made))"
            guard seen.insert(ObjectIdentifier(link)).inserted else {
                lines.append("\(indent)the same as above \(place)")
                continue
            }
            let snapshot = link.snapshot()
            lines.append("\(indent)\(snapshot.text) \(place)")
            if snapshot.inputs.isEmpty {
                rest += snapshot.upstream.reversed().map {
                    Entry(link: $0, prefix: "← ", depth: entry.depth)
                }
            } else {
                rest += snapshot.inputs.enumerated().reversed().compactMap { index, observer in
                    observer.locked({ observer.upstream.retained() }).map {
                        Entry(link: $0, prefix: "\(index): ", depth: entry.depth + 1)
                    }
                }
            }
        }
        return lines.joined(separator: "\n")
    }

    private struct Entry {
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
        let isOnMainQueue = DispatchQueue.isOnMain
        var walk = Walk(from: self)
        var isFoundHere = false
        var mayEndElsewhere = false
        while !mayEndElsewhere,
            walk.next({ link, others in
                switch link.progress(on: thread, isOnMainQueue) {
                case .here: isFoundHere = true
                case .elsewhere: mayEndElsewhere = true
                case .after(let links): others += links
                }
                return others.popLast()
            }) != nil
        {}
        return isFoundHere && !mayEndElsewhere
    }

    /// What has to happen before a link settles, or notifies a new consumer.
    private enum Progress {
        /// Something on this thread.
        case here
        /// Something elsewhere, or it is not known.
        case elsewhere
        /// These have to settle, or one of them.
        case after([Link])
    }

    private func progress(on thread: UInt, _ isOnMainQueue: Bool) -> Progress {
        let word = lock()
        switch phase {
        case .settled, .running, .detached:
            let isActive = phase != .settled || word & Word.draining != 0
            let isHere = isActive && activeThread == thread
            unlock(word)
            return isHere ? .here : .elsewhere
        case .waiting, .dispatched:
            let destination = payload.destination
            let mayEnd = phase == .dispatched || isDetached || made.origin == .timeout
            let upstream = mayEnd ? nil : upstream.retained()
            unlock(word)
            if isOnMainQueue, let destination, destination.isMainQueue { return .here }
            return upstream.map { .after([$0]) } ?? .elsewhere
        case .source:
            let list = coldState?.list
            let following = isCompletedOnlyByFollowing ? coldState?.following ?? [] : []
            unlock(word)
            let links = list?.decidingObservers ?? following
            return links.isEmpty ? .elsewhere : .after(links)
        case .bypassed:
            unlock(word)
            return .elsewhere
        }
    }
}

extension Link {
    /// Whether, a cancel aside, only what this source follows can settle it. Under its lock.
    ///
    /// Handles that may complete it, and completion rights, could do so before.
    fileprivate var isCompletedOnlyByFollowing: Bool {
        if isCompletedByHandles { return false }
        return coldState?.completesOnlyByFollowing ?? false || !hasCompletionRights
    }

    /// Whether there are rights to complete this source. Under its lock.
    private var hasCompletionRights: Bool {
        // They have the other references, and new references are made from existing ones.
        sourceReference != nil && !isKnownUniquelyReferenced(&sourceReference)
    }
}

extension DispatchedStep.Destination {
    /// Whether work submitted there runs on the main queue, known by its label: two objects may stand for one
    /// queue.
    fileprivate var isMainQueue: Bool {
        type == MainActorDispatcher.self || queue.map { $0.label == DispatchQueue.main.label } ?? false
    }
}

extension DispatchQueue {
    /// Whether the current thread runs what is on the main queue, or is the main thread itself.
    ///
    /// Known by the label: a mark of our own could be set only from off the queue.
    fileprivate static var isOnMain: Bool { currentLabel == main.label }

    /// The label of the queue that the current thread runs what is on; "" if it has none.
    static var currentLabel: String {
        #if canImport(CDispatch)
        let label = dispatch_queue_get_label(nil)
        #else
        let label = __dispatch_queue_get_label(nil)
        #endif
        return String(cString: label)
    }
}
