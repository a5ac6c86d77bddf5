/// The elements of a ``DeferredQueue``, and the calls that wait for them or for room.
///
/// Apart from the queue, so that a worker retains this and not the queue: when the last reference to that is released,
/// the workers deliver what was put before (Q3).
///
/// Decisions are made in ``State``, under the lock; ``perform(_:)`` carries them out after it has been released.
final class QueueStorage<Element: Sendable>: Sendable {
    typealias Ticket = CancellableFIFO<Element>.Ticket
    typealias Item = CancellableFIFO<Element>.Item

    /// A call that waits for an element: that of a worker for a ``Delivery``.
    struct Getter: Sendable {
        let right: CompletionRight
        let isWorker: Bool
    }

    /// What a change makes necessary.
    struct Effects: Sendable {
        var delivery: (getter: Getter, item: Item)?
        /// A call of `send` whose element has entered the queue.
        var entered: (ticket: Ticket, resolver: Deferred<Void>.Resolver)?
    }

    let state: SpinLocked<State>

    init(size: Int?, backlog: Int?) {
        var state = State(size: size, backlog: backlog)
        for (name, count) in [("size", size), ("backlog", backlog)] {
            guard let count, count < 0 else { continue }
            state.end = .invalidArgument("a queue's \(name) must not be negative, is \(count)")
        }
        self.state = SpinLocked(state)
    }

    /// Returns the next element to a worker.
    func delivery(_ fileID: StaticString, _ line: UInt) -> Deferred<Delivery> {
        let delivery = next(isWorker: true, fileID, line) { [self] in Delivery($0, self) }
        // The end of the queue, which a worker that is cancelled at that moment does not receive, is not reported.
        delivery.disownFailure()
        return delivery
    }

    /// Returns a Deferred with the result of `result` for the next element.
    func next<R>(
        isWorker: Bool, _ fileID: StaticString, _ line: UInt, _ result: (Item) -> R
    ) -> Deferred<R> {
        func take(_ waiter: (Ticket, Getter)?) -> State.Decision {
            let (decision, effects) = state.withLock { $0.get(waiter, isWorker) }
            perform(effects)
            return decision
        }
        let ticket: Ticket
        switch take(nil) {
        case .element(let item): return .resolved(result(item), fileID: fileID, line: line)
        case .refuse(let error): return .rejected(error, fileID: fileID, line: line)
        case .wait(let place): ticket = place
        }
        let (deferred, resolver) = Deferred<R>.withResolver(
            canceller: { [weak self] _ in _ = self?.state.withLock { $0.getters.remove(ticket) } },
            fileID: fileID, line: line)
        deferred.setIsWaiting { true }
        // Decided anew: an element may have been put since.
        switch take((ticket, Getter(right: resolver.right, isWorker: isWorker))) {
        case .element(let item): resolver.resolve(result(item), fileID: fileID, line: line)
        case .refuse(let error): resolver.reject(error, fileID: fileID, line: line)
        case .wait: break
        }
        return deferred
    }

    /// Adds an element when there is room, and returns a Deferred that is resolved then.
    func send(_ element: Element, _ fileID: StaticString, _ line: UInt) -> Deferred<Void> {
        let ticket = state.withLock { $0.elements.reserve() }
        let (deferred, resolver) = Deferred<Void>.withResolver(
            canceller: { [weak self] resolver in
                // A call of `send` whose element was delivered succeeds, also if it is cancelled now (Q4).
                if let self, !withdraw(ticket) { resolver.resolve() }
            }, fileID: fileID, line: line)
        do {
            perform(try state.withLock { state throws in try state.send((ticket, element), resolver) })
        } catch {
            resolver.reject(error, fileID: fileID, line: line)
        }
        return deferred
    }

    /// Removes the element of a call of `send` that is cancelled. Returns false if it has been delivered.
    private func withdraw(_ ticket: Ticket) -> Bool {
        let (withdrawn, sender, effects) = state.withLock { state in
            let sender = state.senders.remove(ticket)
            let isEntering = state.entering.remove(ticket) != nil
            let element = sender?.element ?? (isEntering ? state.elements.remove(ticket) : nil)
            return (element, sender, state.settle())
        }
        perform(effects)
        withExtendedLifetime(sender) {}
        return withdrawn != nil
    }

    /// Ends the queue. Calls that wait for an element fail; those that wait for room do not, as workers make room.
    func end(with error: DeferredError) {
        state.withLock { $0.end = $0.end ?? error }
        refuseWaiting()
    }

    /// Records that an element on its way was received: on `thread`, or by a worker.
    func received(on thread: UInt?) {
        state.withLock { $0.endDelivery(on: thread) }
        refuseWaiting()
    }

    /// Fails the calls that wait for an element of a queue that has ended, if none can come any more.
    func refuseWaiting() {
        while let (getter, error) = state.withLock({ $0.nextRefused() }) {
            // A getter that is released here fails with `.abandoned`, reported only if something waits for it.
            if error != .abandoned { Deferred<Element>.Resolver(getter.right).reject(error) }
        }
    }

    /// Carries out what a change has made necessary.
    func perform(_ first: Effects) {
        var effects = first
        while true {
            // A call of `send` that is being cancelled either withdraws its element or finds that it has entered. The
            // lock decides which.
            if let (ticket, resolver) = effects.entered, !resolver.isCancelled,
                state.withLock({ $0.entering.remove(ticket) != nil })
            {
                resolver.resolve()
            }
            guard let (getter, item) = effects.delivery else { return }
            if !getter.right.isCancelled {
                // Cancelled meanwhile, it does not take the delivery, whose `deinit` returns the element.
                if getter.isWorker {
                    return _ = Deferred<Delivery>.Resolver(getter.right).resolve(Delivery(item, self))
                }
                if Deferred<Element>.Resolver(getter.right).resolve(item.element) {
                    return received(on: Platform.currentThread)
                }
            }
            // The getter was cancelled, or is about to be: the element goes to the next getter (C7, Q2).
            effects = state.withLock { $0.putBack(item, isWorkers: getter.isWorker) }
            if effects.delivery == nil { refuseWaiting() }
        }
    }
}

extension QueueStorage {
    /// What the queue contains, and which calls wait. There is never an element, or a call of `send`, beside a call
    /// that waits for an element; and no call of `send` where there is room.
    struct State {
        let size: Int?
        let backlog: Int?
        var elements = CancellableFIFO<Element>()
        /// By the tickets that their elements have.
        var senders = CancellableFIFO<(element: Element, resolver: Deferred<Void>.Resolver)>()
        /// The calls of `send` whose elements have entered, and which have not been resolved yet.
        var entering: Set<Ticket> = []
        var getters = CancellableFIFO<Getter>()
        /// Why the queue has ended, or accepts no use at all; nil before that.
        var end: DeferredError?
        /// Of each element on its way, which may yet return (Q2), the thread that delivers it: within its callbacks,
        /// which run on that thread, the element has been received. Nil for one that a worker has yet to take.
        var deliveries: [UInt?] = []

        enum Decision: Sendable { case element(Item), wait(Ticket), refuse(DeferredError) }

        mutating func put(_ element: Element) throws -> Effects {
            if let end { throw end }
            // One that is sent waits behind those that wait already.
            if let size, !hasRoom || !senders.isEmpty { throw DeferredError.queueOverflow(size: size) }
            elements.append(element)
            return settle()
        }

        mutating func send(_ item: Item, _ resolver: Deferred<Void>.Resolver) throws -> Effects {
            if let end { throw end }
            senders.insert((item.element, resolver), at: item.ticket)
            return settle()
        }

        mutating func get(
            _ waiter: (ticket: Ticket, getter: Getter)?, _ isWorker: Bool
        ) -> (Decision, Effects) {
            let (item, effects) = takeFirst()
            if let item {
                if isWorker { deliveries.append(nil) }
                return (.element(item), effects)
            }
            if let end, !mayReturn { return (.refuse(end), effects) }
            if let backlog, getters.count >= backlog {
                return (.refuse(.queueUnderflow(backlog: backlog)), effects)
            }
            guard let waiter else { return (.wait(getters.reserve()), effects) }
            getters.insert(waiter.getter, at: waiter.ticket)
            return (.wait(waiter.ticket), effects)
        }

        mutating func takeFirst() -> (Item?, Effects) {
            if let item = elements.popFirst() { return (item, settle()) }
            // A queue of size 0 has only the elements of those that wait for room.
            guard let (ticket, sender) = senders.popFirst() else { return (nil, Effects()) }
            entering.insert(ticket)
            return ((ticket, sender.element), Effects(entered: (ticket, sender.resolver)))
        }

        /// Returns an element that was on its way to its position, or delivers it to another.
        mutating func putBack(_ item: Item, isWorkers: Bool) -> Effects {
            endDelivery(on: isWorkers ? nil : Platform.currentThread)
            elements.insert(item.element, at: item.ticket)
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
            if hasRoom, let (ticket, sender) = senders.popFirst() {
                elements.insert(sender.element, at: ticket)
                entering.insert(ticket)
                effects.entered = (ticket, sender.resolver)
            }
            if !elements.isEmpty, let getter = getters.popFirst(), let item = elements.popFirst() {
                deliveries.append(getter.element.isWorker ? nil : Platform.currentThread)
                effects.delivery = (getter.element, item)
            }
            return effects
        }
    }

    /// An element on its way to a worker. If that does not take it, it returns to the queue (Q2).
    final class Delivery: Sendable {
        private let item: SpinLocked<Item?>
        private let storage: QueueStorage

        init(_ item: Item, _ storage: QueueStorage) {
            self.item = SpinLocked(item)
            self.storage = storage
        }

        deinit {
            if let item = item.withLock({ $0.take() }) {
                storage.perform(storage.state.withLock { $0.putBack(item, isWorkers: true) })
                storage.refuseWaiting()
            }
        }

        /// Takes the element, once.
        func take() -> Element {
            guard let item = item.withLock({ $0.take() }) else {
                preconditionFailure("a delivery is for one callback, which runs once")
            }
            storage.received(on: nil)
            return item.element
        }
    }
}
