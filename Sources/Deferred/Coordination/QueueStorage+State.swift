extension QueueStorage {
    /// What is to be done after a change.
    struct Effects: Sendable {
        var delivery: (getter: Getter, element: QueueElement)?
        /// A call of `send` whose element has entered the queue.
        var entered: (ticket: Ticket, sender: Sender)?
    }

    /// What the queue contains, and which calls wait. There is never an element, or a call of `send`, beside a call
    /// that waits for an element; and no call of `send` where there is room.
    ///
    /// Each change returns, as ``Effects``, what is to be done next; whoever has made it performs that without the lock.
    struct State {
        let size: Int?
        let backlog: Int?
        var elements = CancellableFIFO<QueueElement>()
        /// By the tickets that their elements have.
        var senders = CancellableFIFO<(element: QueueElement, sender: Sender)>()
        /// The calls of `send` whose elements have entered, and which have not been resolved yet.
        var entering: Set<Ticket> = []
        var getters = CancellableFIFO<Getter>()
        /// Why the queue has ended, or accepts no use at all; nil before that.
        var end: DeferredError?
        /// Of each element that is being delivered, for which other calls wait after the end: the thread that delivers
        /// it, within whose callbacks it has arrived; nil for one that a worker has yet to receive.
        var deliveries: [UInt?] = []

        enum Decision: Sendable { case element(QueueElement), wait(Ticket), refuse(DeferredError) }

        mutating func put(_ element: QueueElement) throws -> Effects {
            if let end { throw end }
            // One that is sent waits behind those that wait already.
            if let size, !hasRoom || !senders.isEmpty { throw DeferredError.queueOverflow(size: size) }
            element.ticket = elements.reserve()
            elements.insert(element, at: element.ticket)
            return settle()
        }

        mutating func send(_ element: QueueElement, _ sender: Sender) throws -> Effects {
            if let end { throw end }
            senders.insert((element, sender), at: element.ticket)
            return settle()
        }

        /// What becomes of a call of `send` that is cancelled.
        enum Withdrawal {
            /// Its element is in the queue, or was taken out of it.
            case hasEntered
            /// Its element was removed; or, from a queue of size 0, is on its way, and does not come back.
            case withdrawn(QueueElement?, Sender?)
        }

        /// Removes the element of a call of `send` that is cancelled, unless it has entered (Q4). One that has entered,
        /// and whose call has not been resolved yet, is removed all the same.
        mutating func withdraw(_ ticket: Ticket) -> (Withdrawal, Effects) {
            let waiting = senders.remove(ticket)
            let isEntering = entering.remove(ticket) != nil
            let element = waiting?.element ?? (isEntering ? elements.remove(ticket) : nil)
            let effects = settle()
            if element == nil && size != 0 { return (.hasEntered, effects) }
            return (.withdrawn(element, waiting?.sender), effects)
        }

        mutating func get(_ waiter: (ticket: Ticket, getter: Getter)?, _ isWorker: Bool) -> (
            Decision, Effects
        ) {
            let (element, effects) = takeFirst()
            if let element {
                if isWorker { deliveries.append(nil) }
                return (.element(element), effects)
            }
            if let end, !mayReturn { return (.refuse(end), effects) }
            if let backlog, getters.count >= backlog {
                return (.refuse(.queueUnderflow(backlog: backlog)), effects)
            }
            guard let waiter else { return (.wait(getters.reserve()), effects) }
            getters.insert(waiter.getter, at: waiter.ticket)
            return (.wait(waiter.ticket), effects)
        }

        mutating func takeFirst() -> (QueueElement?, Effects) {
            if let item = elements.popFirst() { return (item.element, settle()) }
            // A queue of size 0 has only the elements of those that wait for room.
            return (takeFromSender(), Effects())
        }

        mutating func removeAll() -> ([QueueElement], [Effects]) {
            let removed = elements.removeAll()
            var entered: [Effects] = []
            while true {
                let effects = settle()
                if effects.entered == nil { return (removed, entered) }
                entered.append(effects)
            }
        }

        /// Takes the element of the call of `send` that has waited longest, which waits on until it was received.
        private mutating func takeFromSender() -> QueueElement? {
            guard let (_, first) = senders.popFirst() else { return nil }
            first.element.sender = first.sender
            return first.element
        }

        /// Returns an element that was on its way to its position, or delivers it to another. One whose call of `send`
        /// was cancelled meanwhile does not come back.
        mutating func putBack(_ element: QueueElement, isWorkers: Bool, isCounted: Bool = false) -> Effects {
            if isWorkers {
                endDelivery(on: nil)
            } else if isCounted {
                endDelivery(on: Platform.currentThread)
            }
            if let sender = element.sender {
                element.sender = nil
                if !sender.right.isCancelled { senders.insert((element, sender), at: element.ticket) }
            } else {
                elements.insert(element, at: element.ticket)
            }
            return settle()
        }

        /// Whether an element may return to the queue.
        private var mayReturn: Bool {
            if deliveries.isEmpty { return false }
            let thread = Platform.currentThread
            return deliveries.contains { $0 != thread }
        }

        mutating func endDelivery(on thread: UInt?) {
            if let place = deliveries.lastIndex(of: thread) { deliveries.remove(at: place) }
        }

        /// Removes and returns the next getter that can receive no element any more, and the error for it.
        mutating func nextRefused() -> (Getter, DeferredError)? {
            guard let end, elements.isEmpty, senders.isEmpty, !getters.isEmpty, !mayReturn else { return nil }
            return getters.popFirst().map { ($0.element, end) }
        }

        private var hasRoom: Bool { elements.count < size ?? .max || !getters.isEmpty }

        /// Delivers the first element if a call waits for it, and lets the next one enter where there is room. One
        /// change makes no more than one of each necessary.
        mutating func settle() -> Effects {
            var effects = Effects()
            if elements.count < size ?? .max, let (ticket, first) = senders.popFirst() {
                elements.insert(first.element, at: ticket)
                entering.insert(ticket)
                effects.entered = (ticket, first.sender)
            }
            guard !getters.isEmpty, let element = elements.popFirst()?.element ?? takeFromSender(),
                let getter = getters.popFirst()?.element
            else { return effects }
            deliveries.append(getter.isWorker ? nil : Platform.currentThread)
            effects.delivery = (getter, element)
            return effects
        }
    }
}
