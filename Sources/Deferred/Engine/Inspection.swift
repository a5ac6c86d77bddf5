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
    /// Whether this link cannot be settled, or its consumers notified, before something has run on `thread`,
    /// the current one: a callback that this is called from, what is notified after that, or a callback on
    /// the main queue while this is the main queue.
    ///
    /// True only if that is certain, cancels aside: not for what another thread may complete or a failure may
    /// end first.
    func waits(forWhatRunsOn thread: UInt) -> Bool {
        var search = DeadlockSearch(thread)
        return search.isStuck(self)
    }
}

/// Walks up from a link to everything that it may wait for, and from what is stuck back down to what that
/// makes stuck. In loops, since a chain may be a million links long (F6).
///
/// Each link is read once, each at another moment. That suffices: what is stuck stays stuck while this thread
/// searches.
private struct DeadlockSearch {
    /// When a link is stuck.
    enum Condition {
        case always
        /// Never, as far as is known.
        case never
        /// If at least one of these is.
        case any([Link])
        /// If all of these are, and there is at least one.
        case all([Link])
    }

    private struct Visit {
        /// Retained, so that no other link has its address meanwhile.
        let link: Link
        /// The indices of the links that wait for it.
        var dependents: [Int] = []
        /// How many more of the links that it waits for have to be stuck before it is.
        var missing = Int.max
    }

    private let thread: UInt
    private let isOnMainQueue = DispatchQueue.isOnMain
    private var visits: [Visit] = []
    private var places: [ObjectIdentifier: Int] = [:]

    init(_ thread: UInt) { self.thread = thread }

    mutating func isStuck(_ link: Link) -> Bool {
        var next = place(of: link)
        while next < visits.count, visits[0].missing > 0 {
            visit(at: next)
            next += 1
        }
        return visits[0].missing == 0
    }

    private mutating func place(of link: Link) -> Int {
        if let place = places[ObjectIdentifier(link)] { return place }
        places[ObjectIdentifier(link)] = visits.count
        visits.append(Visit(link: link))
        return visits.count - 1
    }

    private mutating func visit(at place: Int) {
        let upstream: [Link]
        switch condition(of: visits[place].link) {
        case .always:
            visits[place].missing = 0
            return spread(from: place)
        case .never:
            return
        case .any(let links):
            upstream = links
            visits[place].missing = 1
        case .all(let links):
            if links.isEmpty { return }
            upstream = links
            visits[place].missing = links.count
        }
        for link in upstream {
            let other = self.place(of: link)
            visits[other].dependents.append(place)
            if visits[other].missing == 0, count(at: place) { spread(from: place) }
        }
    }

    /// Counts one more stuck link among those that a link waits for. Returns true if that makes it stuck.
    private mutating func count(at place: Int) -> Bool {
        guard visits[place].missing > 0 else { return false }
        visits[place].missing -= 1
        return visits[place].missing == 0
    }

    private mutating func spread(from start: Int) {
        var stuck = [start]
        while let place = stuck.popLast() {
            for dependent in visits[place].dependents where count(at: dependent) { stuck.append(dependent) }
        }
    }

    private func condition(of link: Link) -> Condition {
        let destination: DispatchedStep.Destination?
        var upstream: [Link] = []
        let word = link.lock()
        switch link.phase {
        case .settled, .running, .detached:
            let isActive = link.phase != .settled || word & Word.draining != 0
            let isHere = isActive && link.activeThread == thread
            link.unlock(word)
            return isHere ? .always : .never
        case .waiting where link.isDetached:
            // A cancel is about to run its step.
            link.unlock(word)
            return .never
        case .waiting:
            destination = link.payload.destination
            let waitsFor = link.upstream.retained()
            link.unlock(word)
            if link.made.origin == .timeout, cancelEnds(link) { return .never }
            if let waitsFor { upstream = [waitsFor] }
        case .dispatched:
            destination = link.payload.destination
            link.unlock(word)
        case .source:
            let list = link.coldState?.list
            let following = link.isCompletedOnlyByFollowing ? link.coldState?.following ?? [] : []
            link.unlock(word)
            if let list { return condition(of: list) }
            return .all(following)
        case .bypassed:
            link.unlock(word)
            return .never
        }
        if isOnMainQueue, let destination, destination.isMainQueue { return .always }
        return .any(upstream)
    }

    /// Whether a cancel, as by a timer, would end `start` without anything that has to run on this thread
    /// first. Walks up as a cancel does: as long as there is one consumer, to a callback that is running or
    /// yet to be dequeued.
    private func cancelEnds(_ start: Link) -> Bool {
        var link = start
        var seen: Set<ObjectIdentifier> = []
        while seen.insert(ObjectIdentifier(link)).inserted {
            let word = link.lock()
            switch link.phase {
            case .running, .detached:
                let isHere = link.activeThread == thread
                link.unlock(word)
                return !isHere
            case .settled:
                let isHere = word & Word.draining != 0 && link.activeThread == thread
                link.unlock(word)
                return !isHere
            case .dispatched:
                let destination = link.payload.destination
                link.unlock(word)
                return !(isOnMainQueue && destination?.isMainQueue ?? false)
            case .waiting:
                let upstream = link.upstream.retained()
                link.unlock(word)
                guard let upstream, !upstream.isConsumed(besides: link) else { return true }
                link = upstream
            case .source:
                let coldState = link.coldState
                let follower =
                    coldState?.canceller == nil && coldState?.list == nil ? coldState?.following.first : nil
                let isShielded = link.state.marks.contains(.shielded)
                link.unlock(word)
                guard let follower, !isShielded else { return true }
                link = follower
            case .bypassed:
                link.unlock(word)
                return true
            }
        }
        return true
    }

    private func condition(of list: ListObserver) -> Condition {
        switch list.requirement {
        case .each(let observers): .any(observers)
        case .one(let observers): .all(observers)
        case .unknown: .never
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

    /// Whether this pending link has a consumer besides `consumer`.
    fileprivate func isConsumed(besides consumer: Link) -> Bool {
        let word = lock()
        var isConsumed = false
        if word & Word.settled == 0 {
            Link.forEach(in: word) { other in
                if other !== consumer && !other.isDetached && !other.onlyObserves { isConsumed = true }
            }
        }
        unlock(word)
        return isConsumed
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
