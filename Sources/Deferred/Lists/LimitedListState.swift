/// What a list with a limit has started, and what it is to start, or to end, next (D5).
///
/// Each transition is one critical section, and releases nothing. One call at a time starts inputs: it asks for the next
/// step, and does that without the lock, until there is none. What changes meanwhile is left here for it to see.
struct LimitedListState {
    /// A result that was asked for, and, of a `completed` sequence, how much of it waits to be read.
    typealias Request = (list: ListObserver, backlog: Backlog?)

    /// How many more may be in progress; with a semaphore, that says so.
    private var free: Int
    private let needsPermits: Bool
    /// The sequence's own estimate of its count; 0 if that is unreasonably large.
    private let claimedCount: Int
    /// Whether it waits for a permit of its semaphore, and the wait, which a stop cancels.
    private var isAcquiring = false
    private var acquiring: Deferred<Void>?
    /// A permit for the next input.
    private var permit: DeferredSemaphore.Permit?
    /// Whether the next element was taken out of the sequence, and waits for a permit.
    private var hasElement = false
    /// Why no further input starts, if the semaphore has refused a permit.
    private var refusal: (any Error)?
    /// Whether a call starts inputs.
    private var isStarting = false
    private var isExhausted = false
    /// Whether the list was cancelled, or nothing is left that needs further inputs.
    private var isStopped = false
    private(set) var isCancelled = false
    private var startedCount = 0
    /// The inputs started, for results that are asked for later, until the handle is released. An endless list
    /// therefore runs in constant memory from then on.
    private(set) var links: [Link] = []
    /// Whether the handle was released, so that no further result can be asked for.
    private var isReleased = false
    /// Results that were asked for and need all inputs, in that order.
    private var requests = CancellableFIFO<Request>()
    /// Those of them that have yet to observe the inputs started before; they have the same tickets.
    private var joining = CancellableFIFO<Request>()
    private var tickets: [ObjectIdentifier: CancellableFIFO<Request>.Ticket] = [:]
    /// The links of the inputs in progress.
    private var running: [ObjectIdentifier: Link] = [:]
    /// The sequence with the body, until no further input starts.
    private(set) var inputs: InputSequence?
    /// The sequence, for each list that has stopped and is yet to leave the inputs.
    private var retainedInputs: [InputSequence] = []

    init(_ inputs: InputSequence, free: Int, needsPermits: Bool, claimedCount: Int) {
        self.inputs = inputs
        self.free = free
        self.needsPermits = needsPermits
        self.claimedCount = claimedCount
    }

    private var isOver: Bool { isExhausted || isStopped }

    /// Whether a list has use for a further input now. One that was decided or cancelled has none, though it may
    /// be yet to leave (D5).
    private var hasDemand: Bool {
        mutating get {
            requests.contains { list, backlog in !(backlog?.isFull ?? false) && list.isUndecided }
        }
    }

    private var hasRequests: Bool { !requests.isEmpty || !joining.isEmpty }

    // MARK: Lists come and go

    mutating func join(_ request: Request) {
        let ticket = requests.reserve()
        tickets[ObjectIdentifier(request.list)] = ticket
        joining.insert(request, at: ticket)
    }

    /// Removes and returns the request of a list that is settled or cancelled. (The list is retained by its caller.) After
    /// the last one, no input starts any more. The sequence, which may have the only handles of inputs, is retained
    /// until the list has left those.
    mutating func stop(_ list: ListObserver) -> Request? {
        let ticket = tickets.removeValue(forKey: ObjectIdentifier(list))
        let removed = ticket.flatMap { requests.remove($0) ?? joining.remove($0) }
        if !hasRequests { isStopped = true }
        if let inputs { retainedInputs.append(inputs) }
        return removed
    }

    /// A list has left the inputs. Returns what was retained for it.
    mutating func leave() -> InputSequence? { retainedInputs.popLast() }

    /// The inputs in progress that no result needs, and none can be asked for any more.
    var unneededLinks: [Link] {
        isReleased && isStopped && !isCancelled && !hasRequests ? Array(running.values) : []
    }

    mutating func releaseHandle() { isReleased = true }

    /// Starts no further input. Returns the sequence, which may have the only handles of inputs.
    mutating func cancel() -> InputSequence? {
        isStopped = true
        isCancelled = true
        return inputs
    }

    // MARK: Starting inputs

    enum Starting {
        /// This call performs the steps until ``nextStep()`` says that they end.
        case begins
        /// Another call performs them, and sees what has changed.
        case isInProgress
    }

    mutating func beginStarting() -> Starting {
        if isStarting { return .isInProgress }
        isStarting = true
        return .begins
    }

    /// What the call that starts inputs does next.
    enum Step {
        /// Has a list that was added observe the inputs started before.
        case observe([Link], by: ListObserver)
        /// Releases the inputs that were kept for results asked for later; or the sequence, from which no further input
        /// starts.
        case release([Link], InputSequence?)
        case cancelAcquiring(Deferred<Void>)
        /// Ends the lists: without an error, since the sequence has ended.
        case close([ListObserver], cutOff: (any Error)?, missingCount: Int)
        case takeElement
        case acquirePermit
        /// Starts the next input, with the permit.
        case start(for: [ListObserver], DeferredSemaphore.Permit?)
        case returnPermit(DeferredSemaphore.Permit)
        case end
    }

    mutating func nextStep() -> Step {
        if let (ticket, request) = joining.popFirst() {
            requests.insert(request, at: ticket)
            return .observe(links, by: request.list)
        }
        if isReleased, !links.isEmpty { return .release(links.takeAll(), nil) }
        if isReleased && requests.isEmpty { isStopped = true }
        let isOver = isOver
        if isOver, let acquiring = acquiring.take() { return .cancelAcquiring(acquiring) }
        if isOver, !requests.isEmpty {
            tickets = [:]
            let lists = requests.removeAll().map(\.list)
            if isExhausted { return .close(lists, cutOff: nil, missingCount: 0) }
            let missingCount = max(0, claimedCount - startedCount)
            return .close(lists, cutOff: refusal ?? CancellationError(), missingCount: missingCount)
        }
        let hasDemand = !isOver && hasDemand
        // Where no input is in progress the sequence may have ended, and the list with it: no permit is needed for that.
        if needsPermits, hasDemand, !hasElement, permit != nil || running.isEmpty { return .takeElement }
        if needsPermits, permit == nil {
            if hasDemand, !isAcquiring {
                isAcquiring = true
                return .acquirePermit
            }
        } else if hasDemand, free > 0 {
            free -= 1
            hasElement = false
            return .start(for: requests.elements.map(\.list), permit.take())
        } else if let permit = permit.take() {
            return .returnPermit(permit)
        }
        // Before `isStarting` is taken back: after that another call may be here.
        if isOver, let inputs = inputs.take() { return .release([], inputs) }
        isStarting = false
        return .end
    }

    /// The next element was taken out of the sequence.
    mutating func noteElement() { hasElement = true }

    /// The sequence has ended.
    mutating func noteEnd() { isExhausted = true }

    /// An input was started.
    mutating func noteStart(of link: Link) {
        startedCount += 1
        running[ObjectIdentifier(link)] = link
        if !isReleased { links.append(link) }
    }

    /// An input has ended. Returns its link.
    mutating func noteEnd(of key: ObjectIdentifier) -> Link? {
        free += 1
        return running.removeValue(forKey: key)
    }

    // MARK: Permits

    /// A permit has not arrived within the call that asked for it.
    mutating func waitForPermit(_ arrival: Deferred<Void>?) { if isAcquiring { acquiring = arrival } }

    enum Acquisition {
        /// This call performs the steps that follow.
        case begins
        /// Another call performs them.
        case isInProgress
        /// No further input starts: the permit goes back.
        case isUnneeded
    }

    /// The semaphore has granted a permit, or refused one. Returns the wait for it as well, to be released.
    mutating func acquire(
        _ result: Result<DeferredSemaphore.Permit, any Error>
    ) -> (Deferred<Void>?, Acquisition) {
        isAcquiring = false
        let arrival = acquiring.take()
        if isOver { return (arrival, .isUnneeded) }
        switch result {
        case .success(let permit): self.permit = permit
        case .failure(let error): (refusal, isStopped) = (error, true)
        }
        // In the same critical section, so that a thread that cancels the list meanwhile does not find the permit,
        // and admits no other caller in the middle of its cancel (C7).
        switch beginStarting() {
        case .begins: return (arrival, .begins)
        case .isInProgress: return (arrival, .isInProgress)
        }
    }
}

/// The sequence of a list with a limit. Each element is taken out when its input starts.
///
/// Sound as `@unchecked Sendable`: the sequence was sent here by its owner (`sending`), and `take` and `next` are called
/// only by the one call that is in `LimitedInputs.startInputs`, whose calls are ordered by that object's lock.
final class InputSequence: @unchecked Sendable {
    /// Takes the next element, which `next` then starts; returns false at the end.
    let take: () -> Bool
    /// Takes the next element and starts its input; returns nil at the end.
    let next: () -> Link?

    /// - Parameter values: What the sequence and `start` see (X2).
    init<S: Sequence>(
        _ sequence: sending S, _ values: CarriedValues?, _ start: @escaping (S.Element) -> Link
    ) {
        var iterator: S.Iterator?
        var taken: S.Element?
        let takeNext = {
            if iterator == nil { iterator = sequence.makeIterator() }
            return iterator?.next()
        }
        let take = {
            taken = takeNext()
            return taken != nil
        }
        let next = { (taken.take() ?? takeNext()).map(start) }
        self.take = if let values { { values.run(take) } } else { take }
        self.next = if let values { { values.run(next) } } else { next }
    }
}
