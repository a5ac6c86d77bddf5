/// The elements of a ``DeferredQueue``, and the calls that wait for them or for room. Knows nothing of the type of the
/// elements, as the engine knows nothing of that of values.
///
/// Apart from the queue, so that a worker retains this and not the queue: when the last reference to that is released,
/// the workers deliver what was put before (Q3).
///
/// An element that a call of `get()` takes out is a ``ReturnableValue``: if nobody receives it, it comes back (V2).
///
/// Decisions are made in ``State``, under the lock; ``perform(_:)`` carries them out after it has been released.
@usableFromInline
final class QueueStorage: Sendable {
    typealias Ticket = CancellableFIFO<QueueElement>.Ticket

    /// A call that waits for an element.
    struct Getter: Sendable {
        let right: CompletionRight
        let isWorker: Bool
    }

    /// A call of `send` that waits for room; of a queue of size 0, until its element was received.
    struct Sender: Sendable {
        let right: CompletionRight
        let site: DeferredDiagnostic.Location

        func resolve() { _ = right.complete(.value(()), site) }
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

    @usableFromInline
    func put(_ element: consuming Payload) throws {
        let element = QueueElement(element)
        perform(try state.withLock { state throws in try state.put(element) })
    }

    /// Returns a link with the next element: a settled one, or one that waits.
    @usableFromInline
    func next(isWorker: Bool, _ fileID: StaticString, _ line: UInt) -> Link {
        func take(_ waiter: (Ticket, Getter)?) -> State.Decision {
            let (decision, effects) = state.withLock { $0.get(waiter, isWorker) }
            perform(effects)
            return decision
        }
        let site = DeferredDiagnostic.Location(.settled, fileID, line)
        let ticket: Ticket
        switch take(nil) {
        case .element(let element): return .settled(element.onItsWay(to: self, isWorkers: isWorker), site)
        case .refuse(let error): return .settled(.failure(error), site)
        case .wait(let place): ticket = place
        }
        let link = Link(.source, .none, DeferredDiagnostic.Location(.resolver, fileID, line))
        let right = CompletionRight(link)
        // No cycle is left: the queue's `deinit` ends the calls that wait.
        link.setCanceller { [self] _ in _ = state.withLock { $0.getters.remove(ticket) } }
        link.setIsWaiting { true }
        // Decided anew: an element may have been put since.
        switch take((ticket, Getter(right: right, isWorker: isWorker))) {
        case .element(let element):
            _ = right.complete(element.onItsWay(to: self, isWorkers: isWorker), site)
        case .refuse(let error): _ = right.complete(.failure(error), site)
        case .wait: break
        }
        return link
    }

    /// Adds an element when there is room, and returns a link that is resolved then.
    @usableFromInline
    func send(_ element: consuming Payload, _ fileID: StaticString, _ line: UInt) -> Link {
        let element = QueueElement(element)
        element.ticket = state.withLock { $0.elements.reserve() }
        let link = Link(.source, .none, DeferredDiagnostic.Location(.resolver, fileID, line))
        let sender = Sender(
            right: CompletionRight(link), site: DeferredDiagnostic.Location(fileID: fileID, line: line))
        link.setCanceller { [weak self, ticket = element.ticket] right in self?.cancelSend(ticket, right) }
        do {
            perform(try state.withLock { state throws in try state.send(element, sender) })
        } catch {
            _ = sender.right.complete(.failure(error), sender.site)
        }
        return link
    }

    /// Removes the element of a call of `send` that is cancelled. If it has entered, the call succeeds (Q4); if it is
    /// on its way out of a queue of size 0, the call fails, and the element does not come back.
    private func cancelSend(_ ticket: Ticket, _ right: CompletionRight) {
        let (withdrawal, effects) = state.withLock { $0.withdraw(ticket) }
        if case .hasEntered = withdrawal {
            _ = right.complete(.value(()), .init(fileID: #fileID, line: #line))
        }
        perform(effects)
        // The element and its sender are released without the lock.
        withExtendedLifetime(withdrawal) {}
    }

    /// Removes and returns the next element, for a caller that receives it; nil if there is none.
    @usableFromInline
    func takeNext() -> QueueElement? {
        let (element, effects) = state.withLock { $0.takeFirst() }
        element?.receive()
        perform(effects)
        return element
    }

    /// Removes and returns all elements in the queue, for a caller that receives them. Lets as many calls of `send` that
    /// wait for room enter as there is room for.
    @usableFromInline
    func removeAll() -> [QueueElement] {
        let (elements, effects) = state.withLock { $0.removeAll() }
        for element in elements { element.receive() }
        for effect in effects { perform(effect) }
        refuseWaiting()
        return elements
    }

    /// The elements in the queue, the next one first.
    @usableFromInline
    var elements: [QueueElement] { state.withLock { $0.elements.elements } }

    /// Ends the queue. Calls that wait for an element fail; those that wait for room do not, as workers make room.
    func end(with error: DeferredError) {
        state.withLock { $0.end = $0.end ?? error }
        refuseWaiting()
    }

    /// Notes that an element on its way has arrived: a worker has received it, or what it was delivered to on `thread`
    /// has been notified.
    func endDelivery(on thread: UInt?) {
        let hasEnded = state.withLock { state in
            state.endDelivery(on: thread)
            return state.end != nil
        }
        if hasEnded { refuseWaiting() }
    }

    /// Returns an element that nobody has received to its place, and delivers it to the next.
    func takeBack(_ element: QueueElement, isWorkers: Bool) {
        perform(state.withLock { $0.putBack(element, isWorkers: isWorkers) })
        refuseWaiting()
    }

    /// Fails the calls that wait for an element of a queue that has ended, if none can come any more.
    private func refuseWaiting() {
        while let (getter, error) = state.withLock({ $0.nextRefused() }) {
            // A getter that is released here fails with `.abandoned`, reported only if something waits for it.
            if error == .abandoned { continue }
            _ = getter.right.complete(.failure(error), .init(fileID: #fileID, line: #line))
        }
    }

    /// Carries out what a change has made necessary.
    private func perform(_ first: Effects) {
        var effects = first
        while true {
            // A call of `send` that is being cancelled either withdraws its element or finds that it has entered. The
            // lock decides which.
            if let (ticket, sender) = effects.entered, !sender.right.isCancelled,
                state.withLock({ $0.entering.remove(ticket) != nil })
            {
                sender.resolve()
            }
            guard let (getter, element) = effects.delivery else { return }
            if getter.right.isCancelled {
                // It is about to leave: the element goes to the next getter (C7, Q2).
                effects = state.withLock { $0.putBack(element, isWorkers: getter.isWorker, isCounted: true) }
                if effects.delivery == nil { refuseWaiting() }
                continue
            }
            let site = DeferredDiagnostic.Location(fileID: #fileID, line: #line)
            // Cancelled meanwhile, the getter does not take the element, which then comes back.
            _ = getter.right.complete(element.onItsWay(to: self, isWorkers: getter.isWorker), site)
            if !getter.isWorker { endDelivery(on: Platform.currentThread) }
            return
        }
    }
}

/// An element of a queue. It has a place there, the ticket's, also while it is on its way to one that may not receive
/// it.
///
/// Sound as `@unchecked Sendable`: the properties are set before another thread has a reference to the element, or, as
/// `storage`, by the thread that has taken it out of the queue, before it is on its way.
@usableFromInline
final class QueueElement: ReturnableValue, @unchecked Sendable {
    @exclusivity(unchecked) var ticket: QueueStorage.Ticket = 0
    /// The call of `send` that waits until the element was received.
    @exclusivity(unchecked) var sender: QueueStorage.Sender?
    /// Where it returns to; nil while it is in the queue.
    @exclusivity(unchecked) private var storage: QueueStorage?
    @exclusivity(unchecked) private var isWorkers = false

    /// The outcome that takes the element to a call that waited for it, or to a worker's.
    func onItsWay(to storage: QueueStorage, isWorkers: Bool) -> Payload {
        self.storage = storage
        self.isWorkers = isWorkers
        return .returnable(self)
    }

    override func didReceive() {
        if isWorkers { storage?.endDelivery(on: nil) }
        sender?.resolve()
    }

    deinit {
        guard let storage, !wasReceived else { return }
        let content = ReturnableValue(value.copy())
        NestedWork.run(
            .closure { [ticket, sender, isWorkers] in
                // Made here, so that it is released here if it does not stay in the queue.
                let returned = QueueElement(content.value.copy())
                returned.ticket = ticket
                returned.sender = sender
                storage.takeBack(returned, isWorkers: isWorkers)
            })
    }
}
