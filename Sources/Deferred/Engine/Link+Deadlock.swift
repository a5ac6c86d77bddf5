internal import Dispatch

#if canImport(CDispatch)
internal import CDispatch
#endif

/// Whether to block a thread would be to wait for that thread.
extension Link {
    /// Whether this link can't settle, nor be told of, before something has run on `thread`, the current one:
    /// a callback that it is inside of, what is told after that, or a callback that is for the main queue
    /// while this is that queue.
    ///
    /// Only what is certain, cancels aside: not what another thread may still fire, or a failure may end
    /// first.
    func waits(forWhatRunsOn thread: UInt) -> Bool {
        var search = DeadlockSearch(thread)
        return search.isStuck(self)
    }
}

/// Goes up from a link to all that it may wait for, and comes back down from what is stuck to what that makes
/// stuck. As loops, since a chain may be a million links long (F6).
///
/// Each link is looked at once, at a moment of its own. That will do, since what is stuck stays so for as
/// long as this thread searches.
private struct DeadlockSearch {
    /// When a link is stuck.
    enum Condition {
        case always
        /// Not for all that is known of it.
        case never
        /// If one of these is.
        case any([Link])
        /// If all of these are; not if there are none.
        case all([Link])
    }

    private struct Visit {
        /// Held, so that no other link is met at its address.
        let link: Link
        /// Those that wait for it, by their places.
        var dependents: [Int] = []
        /// How many more of those that it waits for have to be stuck before it is.
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
            look(at: next)
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

    private mutating func look(at place: Int) {
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

    /// One more of those that a link waits for is stuck; true if that makes it so.
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
        let dispatcher: (any Dispatcher)?
        var upstream: [Link] = []
        let word = link.lock()
        switch link.phase {
        case .settled, .running:
            let isTold = link.phase == .running || word & Word.busy != 0
            let isHere = isTold && link.teller == thread
            link.unlock(word)
            return isHere ? .always : .never
        case .waiting, .linking:
            dispatcher = link.content.dispatcher
            let waitsFor = link.upstream.retained()
            let isHere = waitsFor == nil && link.teller == thread
            link.unlock(word)
            if isHere { return .always }
            // A timer may end it, if others consume what it waits for.
            if link.made.origin == .timeout { return .never }
            if let waitsFor { upstream = [waitsFor] }
        case .handedOver:
            dispatcher = link.content.dispatcher
            link.unlock(word)
        case .source:
            let list = link.rare?.list
            let following = link.isFiredOnlyByFollowing ? link.rare?.following ?? [] : []
            link.unlock(word)
            if let list { return condition(of: list) }
            return .all(following)
        case .bypassed:
            link.unlock(word)
            return .never
        }
        if isOnMainQueue, let dispatcher, dispatcher.isMainQueue { return .always }
        return .any(upstream)
    }

    private func condition(of list: ListState) -> Condition {
        let watches = list.watches.filter { watch in watch.locked { watch.phase != .settled } }
        if list.waitsForAll { return .any(watches) }
        guard let limit = list.limit else { return .all(watches) }
        // What has not begun does not, as long as those that are stuck take all the places there are.
        var begun: [Link] = []
        for watch in watches {
            let input = watch.locked { watch.upstream.retained() }
            switch input?.isFollowing {
            case true?: begun.append(watch)
            case false?: break
            case nil: return .all(watches)
            }
        }
        return begun.count == watches.count || begun.count >= limit ? .all(begun) : .never
    }
}

extension Link {
    /// Whether this source fires as another does, and in no other way but by a cancel. Under its lock.
    ///
    /// Hands may fire it before what it follows does: those of its handles, if they may, or of its producers,
    /// if there are any left.
    fileprivate var isFiredOnlyByFollowing: Bool {
        if isFiredByHandles { return false }
        return rare?.firesOnlyByFollowing ?? false || !hasProducers
    }

    /// Whether somebody holds a producer of this source. Under its lock.
    private var hasProducers: Bool {
        guard flags.contains(.hasClaim) else { return false }
        // Sound: with that flag `next` is a retained reference to the claim (see `keep`), laid out as an
        // optional one is. The producers hold the others, and only who holds one can make one more.
        return withUnsafeMutablePointer(to: &next) { kept in
            kept.withMemoryRebound(to: Claim?.self, capacity: 1) { !isKnownUniquelyReferenced(&$0.pointee) }
        }
    }

    /// Whether this source follows another yet; nil if it is pending no more.
    fileprivate var isFollowing: Bool? {
        locked { phase == .source ? rare.map { !$0.following.isEmpty } ?? false : nil }
    }
}

extension Dispatcher {
    /// Whether what it is given runs on the main queue, known by its label: two objects may stand for one
    /// queue.
    fileprivate var isMainQueue: Bool {
        self is MainActorDispatcher
            || (self as? DispatchQueue).map { $0.label == DispatchQueue.main.label } ?? false
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
