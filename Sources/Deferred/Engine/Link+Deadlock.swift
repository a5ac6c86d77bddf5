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
        let isOnMainQueue = DispatchQueue.isOnMain
        var links = [self]
        var seen: Set<ObjectIdentifier> = []
        while let link = links.popLast() {
            guard seen.insert(ObjectIdentifier(link)).inserted else { continue }
            let dispatcher: (any Dispatcher)?
            var upstream: Link?
            var rare: Rare?
            let word = link.lock()
            switch link.phase {
            case .settled, .running:
                let isTold = link.phase == .running || word & Word.busy != 0
                let isHere = isTold && link.teller == thread
                link.unlock(word)
                if isHere { return true }
                continue
            case .waiting, .linking:
                dispatcher = link.content.dispatcher
                upstream = link.upstream.retained()
                if upstream == nil && link.teller == thread {
                    link.unlock(word)
                    return true
                }
            case .handedOver:
                dispatcher = link.content.dispatcher
            case .source:
                dispatcher = nil
                // Whatever it follows, hands may fire it first.
                if !link.isFiredByHandles && !link.flags.contains(.hasClaim) { rare = link.rare }
            case .bypassed:
                dispatcher = nil
            }
            let followed = rare?.following ?? []
            let list = rare?.list
            link.unlock(word)

            if isOnMainQueue, let dispatcher, dispatcher.isMainQueue { return true }
            if let upstream { links.append(upstream) }
            if followed.count == 1 { links += followed }
            if let list, list.waitsForAll { links += list.watches }
        }
        return false
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
