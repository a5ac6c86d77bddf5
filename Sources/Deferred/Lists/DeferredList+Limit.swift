internal import Synchronization

/// The inputs of a list with a limit (D5): taken out of a sequence and started one by one, while there is room
/// and a result that was asked for needs them.
///
/// One call at a time starts inputs (`startInputs`); what changes meanwhile is left in the state for it to see.
/// Only that call touches the sequence and runs the user's closure, and never under the lock.
final class LimitedInputs<Value: Sendable>: ListOwner {
    /// A result that was asked for, and, of a `completed` sequence, how much of it waits to be read.
    private typealias Request = (list: ListObserver, backlog: Backlog?)

    private struct State {
        /// How many more may be in progress; with a semaphore, that says so.
        var free: Int
        /// Whether it waits for a permit of its semaphore, and the wait, which a stop cancels.
        var isAcquiring = false
        var acquiring: Deferred<Void>?
        /// A permit for the next input.
        var permit: DeferredSemaphore.Permit?
        /// Whether the next element was taken out of the sequence, and waits for a permit.
        var hasElement = false
        /// Why no further input starts, if the semaphore has refused a permit.
        var refusal: (any Error)?
        /// Whether a call is in `startInputs`.
        var isStarting = false
        var isExhausted = false
        /// Whether the list was cancelled, or nothing is left that needs further inputs.
        var isStopped = false
        var isCancelled = false
        var startedCount = 0
        /// The inputs started, for results that are asked for later, until the handle is released. An endless list
        /// therefore runs in constant memory from then on.
        var links: [Link] = []
        /// Whether the handle was released, so that no further result can be asked for.
        var isReleased = false
        /// Results that were asked for and need all inputs, in that order.
        var requests = CancellableFIFO<Request>()
        /// Those of them that have yet to observe the inputs started before; they have the same tickets.
        var joining = CancellableFIFO<Request>()
        var tickets: [ObjectIdentifier: CancellableFIFO<Request>.Ticket] = [:]
        /// The links of the inputs in progress.
        var running: [ObjectIdentifier: Link] = [:]
        /// The sequence with the body, until no further input starts.
        var inputs: InputSequence?
        /// The sequence, for each list that has stopped and is yet to leave the inputs.
        var retainedInputs: [InputSequence] = []

        var isOver: Bool { isExhausted || isStopped }

        /// Whether a list has use for a further input now. One that was decided or cancelled has none, though it may
        /// be yet to leave (D5).
        var hasDemand: Bool {
            mutating get {
                requests.contains { list, backlog in !(backlog?.isFull ?? false) && list.isUndecided }
            }
        }

        var hasRequests: Bool { !requests.isEmpty || !joining.isEmpty }

        mutating func add(_ request: Request) {
            let ticket = requests.reserve()
            tickets[ObjectIdentifier(request.list)] = ticket
            joining.insert(request, at: ticket)
        }

        /// Removes and returns the request of a list. (The list is retained by its caller.)
        mutating func removeRequest(of list: ListObserver) -> Request? {
            guard let ticket = tickets.removeValue(forKey: ObjectIdentifier(list)) else { return nil }
            return requests.remove(ticket) ?? joining.remove(ticket)
        }
    }

    private let site: DeferredDiagnostic.Location
    /// The sequence's own estimate of its count; 0 if that is unreasonably large.
    private let claimedCount: Int
    private let semaphore: DeferredSemaphore?
    private let state: SpinLocked<State>

    enum Limit { case count(Int), semaphore(DeferredSemaphore) }

    init<S: Sequence>(
        _ sequence: sending S, _ limit: Limit, _ site: DeferredDiagnostic.Location,
        _ body: @escaping @Sendable (S.Element) -> Deferred<Value>
    ) {
        self.site = site
        let count = sequence.underestimatedCount
        claimedCount = count > 1_000_000 ? 0 : count
        let (free, semaphore): (Int, DeferredSemaphore?) =
            switch limit {
            case .count(let count): (count, nil)
            case .semaphore(let semaphore): (.max, semaphore)
            }
        self.semaphore = semaphore
        let values = DeferredTaskLocals.carried
        state = SpinLocked(State(free: free, inputs: InputSequence(sequence, values) { body($0).link }))
    }

    fileprivate func releaseHandle() {
        state.withLock { $0.isReleased = true }
        DrainLoop.with { loop in
            startInputs(in: &loop)
            leaveRunning(in: &loop)
        }
    }

    /// Adds a list, which observes all inputs, also those started before.
    func join(_ list: ListObserver, _ backlog: Backlog?) {
        state.withLock { $0.add((list, backlog)) }
        startInputs()
    }

    /// Removes a list that is settled or cancelled. After the last one, no input starts any more. The sequence, which
    /// may have the only handles of inputs, is retained until these have been cancelled.
    func didStop(_ list: ListObserver) {
        let removed = state.withLock { state in
            let removed = state.removeRequest(of: list)
            if !state.hasRequests { state.isStopped = true }
            if let inputs = state.inputs { state.retainedInputs.append(inputs) }
            return removed
        }
        withExtendedLifetime(removed) {}
        startInputs()
    }

    func didLeave(in loop: inout DrainLoop) {
        let retained = state.withLock { $0.retainedInputs.popLast() }
        leaveRunning(in: &loop)
        withExtendedLifetime(retained) {}
    }

    /// Detaches what this list has attached to inputs in progress, once no result needs them and none can be asked for
    /// any more (V3). Where an observer is left, it is the root of a cancel whose end it waits for: what the list has
    /// attached then stays as long, but counts as a consumer no more than the observer does.
    private func leaveRunning(in loop: inout DrainLoop) {
        let links = state.withLock { state in
            let isLeft = state.isReleased && state.isStopped && !state.isCancelled && !state.hasRequests
            return isLeft ? Array(state.running.values) : []
        }
        for link in links {
            let (need, isDisowned) = link.locked { (link.need, link.state.marks.contains(.handled)) }
            if need == .consumers { continue }
            if isDisowned { link.waitedFor?.disownFailure() }
            if need == .observers { link.set(Link.Flags.onlyObserves) } else { loop.detachPending(link) }
        }
    }

    /// Starts no further input, and cancels those in progress.
    func cancel() {
        let inputs = state.withLock { state in
            state.isStopped = true
            state.isCancelled = true
            return state.inputs
        }
        startInputs()
        Link.cancel(state.withLock { $0.links })
        withExtendedLifetime(inputs) {}
    }

    /// Does what there is to do, unless another call is doing it. A loop, also where inputs are settled as soon
    /// as they are started.
    func startInputs() { DrainLoop.with { startInputs(in: &$0) } }

    /// As `startInputs()`; the callbacks of lists that are settled thereby run later, on `loop` (F6).
    private func startInputs(in loop: inout DrainLoop) {
        let isFirst = state.withLock { state in
            let isFirst = !state.isStarting
            state.isStarting = true
            return isFirst
        }
        if isFirst { performSteps(in: &loop) }
    }

    /// Does what there is to do, for the call that starts inputs.
    private func performSteps(in loop: inout DrainLoop) {
        while let step = state.withLock({ nextStep(&$0) }) { step(&loop) }
    }

    /// Returns what the call that starts inputs does next; nil if it is done. Under the lock.
    private func nextStep(_ state: inout State) -> (@Sendable (inout DrainLoop) -> Void)? {
        if let (ticket, request) = state.joining.popFirst() {
            state.requests.insert(request, at: ticket)
            return { [links = state.links] loop in
                for link in links { request.list.add(link, self.site, in: &loop) }
            }
        }
        if state.isReleased, !state.links.isEmpty {
            return { [links = state.links.takeAll()] _ in withExtendedLifetime(links) {} }
        }
        if state.isReleased && state.requests.isEmpty { state.isStopped = true }
        let isOver = state.isOver
        if isOver, let acquiring = state.acquiring.take() { return { _ in acquiring.cancel() } }
        if isOver, !state.requests.isEmpty {
            let missingCount = state.isExhausted ? 0 : max(0, claimedCount - state.startedCount)
            state.tickets = [:]
            let reason = state.refusal ?? CancellationError()
            let cutOff = state.isExhausted ? nil : reason
            return { [requests = state.requests.removeAll()] loop in
                let missing = (0..<missingCount).map { _ in
                    Link(.settled, .failure(reason), self.site.of(.hidden))
                }
                for link in missing { link.disownFailure() }
                for (list, _) in requests { list.close(cutOff: cutOff, missing: missing, in: &loop) }
            }
        }
        let hasDemand = !isOver && state.hasDemand
        // Where no input is in progress the sequence may have ended, and the list with it: no permit is needed for that.
        if semaphore != nil, hasDemand, !state.hasElement, state.permit != nil || state.running.isEmpty {
            return { _ in self.takeElement() }
        }
        if semaphore != nil, state.permit == nil {
            if hasDemand, !state.isAcquiring {
                state.isAcquiring = true
                return { _ in self.acquirePermit() }
            }
        } else if hasDemand, state.free > 0 {
            state.free -= 1
            state.hasElement = false
            return { [requests = state.requests.elements, permit = state.permit.take()] in
                self.start(for: requests, with: permit, in: &$0)
            }
        } else if let permit = state.permit.take() {
            return { permit.release(in: &$0) }
        }
        // Before `isStarting` is taken back: after that another call may be here.
        if isOver, let inputs = state.inputs.take() { return { _ in withExtendedLifetime(inputs) {} } }
        state.isStarting = false
        return nil
    }

    /// Takes the next element out of the sequence, to start its input later.
    private func takeElement() {
        let isThere = state.withLock { $0.inputs }?.take() ?? false
        state.withLock { if isThere { $0.hasElement = true } else { $0.isExhausted = true } }
    }

    /// Takes a permit of the semaphore for the next input, or waits for one in its queue.
    private func acquirePermit() {
        let arrival: Deferred<Void>? = semaphore?.acquire().attach(nil, site.of(.hidden)) { [self] input in
            didAcquire(input.result())
            return .value(())
        }
        state.withLock { if $0.isAcquiring { $0.acquiring = arrival } }
    }

    /// Starts the next input with the permit. If the semaphore has refused it, starts no further input.
    private func didAcquire(_ result: Result<DeferredSemaphore.Permit, any Error>) {
        var before: Deferred<Void>?
        let (isFirst, isUsed) = state.withLock { state in
            state.isAcquiring = false
            swap(&before, &state.acquiring)
            if state.isOver { return (false, false) }
            switch result {
            case .success(let permit): state.permit = permit
            case .failure(let error): (state.refusal, state.isStopped) = (error, true)
            }
            // In the same critical section, so that a thread that cancels the list meanwhile does not find the permit,
            // and admits no other caller in the middle of its cancel (C7).
            defer { state.isStarting = true }
            return (!state.isStarting, true)
        }
        withExtendedLifetime(before) {}
        if isFirst { DrainLoop.with { performSteps(in: &$0) } }
        if !isUsed { try? result.get().release() }
    }

    /// Starts the next input, if there is one.
    private func start(
        for requests: [Request], with permit: DeferredSemaphore.Permit?, in loop: inout DrainLoop
    ) {
        guard let made = state.withLock({ $0.inputs })?.next() else {
            state.withLock { $0.isExhausted = true }
            permit?.release(in: &loop)
            return
        }
        if let permit { made.release(permit, site) }
        // A link of its own, since the list must not keep alive what alone could complete the input (A1).
        let link = made.attach(.step { $0.copy() }, site)
        state.withLock { state in
            state.startedCount += 1
            state.running[ObjectIdentifier(link)] = link
            if !state.isReleased { state.links.append(link) }
        }
        for (list, _) in requests { list.add(link, site, in: &loop) }
        // Attached after the lists: the next input starts when they have been notified.
        let key = ObjectIdentifier(link)
        let hook = Payload.hook { [self] loop, _ in
            let ended = state.withLock { state in
                state.free += 1
                return state.running.removeValue(forKey: key)
            }
            startInputs(in: &loop)
            // If no list waits for it any more, nothing does: its abandonment is not reported (U1).
            if let ended, ended.payload.error as? DeferredError == .abandoned { ended.disownFailure() }
        }
        let observer = Link(.waiting, hook, site.of(.hidden))
        observer.set(Link.Flags.onlyObserves)
        link.attach(observer)
        // The list may have been cancelled while the input was being made.
        if state.withLock({ $0.isCancelled }) { link.cancel() }
        leaveRunning(in: &loop)
    }
}

/// What copies of a list with a limit share: with the last of them, its inputs are released for further results.
final class LimitedListHandle<Value: Sendable>: Sendable {
    let inputs: LimitedInputs<Value>

    init<S: Sequence>(
        _ sequence: sending S, _ limit: LimitedInputs<Value>.Limit, _ site: DeferredDiagnostic.Location,
        wrapsErrors: Bool, _ body: @escaping @Sendable (S.Element) -> Deferred<Value>
    ) {
        inputs =
            wrapsErrors
            ? LimitedInputs(zip(0..., sequence), limit, site) { body($0.1).wrappingError($0.0) }
            : LimitedInputs(sequence, limit, site, body)
    }

    deinit { inputs.releaseHandle() }
}

/// How many outcomes wait to be read out of a `completed` sequence.
@usableFromInline
final class Backlog: Sendable {
    let count = Atomic(0)

    /// Whether so many wait that no further input starts for the sequence.
    var isFull: Bool { count.load(ordering: .relaxed) >= 100 }
}

/// The sequence of a list with a limit. Each element is taken out when its input starts.
///
/// Sound as `@unchecked Sendable`: the sequence was sent here by its owner (`sending`), and `take` and `next` are called
/// only by the one call that is in `LimitedInputs.startInputs`, whose calls are ordered by that object's lock.
private final class InputSequence: @unchecked Sendable {
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

extension Link {
    /// Who needs a link of a list with a limit; the hook of `start(for:in:)` does not.
    fileprivate enum Need { case consumers, observers, nobody }

    /// Who needs this link; observers, as long as the hook is yet to be attached. Under the lock.
    fileprivate var need: Need {
        var (count, hasHook, isConsumed) = (0, false, false)
        Link.forEach(in: word.load(ordering: .relaxed)) { consumer in
            count += 1
            if !consumer.onlyObserves { isConsumed = true }
            if consumer.locked({ consumer.payload.kind == .hook }) { hasHook = true }
        }
        if isConsumed { return .consumers }
        return count == 1 && hasHook ? .nobody : .observers
    }

    /// Releases a permit when this link is settled, also if no list needs it any more; where others wait for the permit,
    /// after what follows from that, so that no body starts that a list is about to cancel (C7).
    fileprivate func release(_ permit: DeferredSemaphore.Permit, _ site: DeferredDiagnostic.Location) {
        let hook = Payload.hook { loop, _ in
            guard permit.isAwaited else { return permit.release(in: &loop) }
            loop.jobs.last.append { permit.release(in: &$0) }
        }
        let observer = Link(.waiting, hook, site.of(.hidden))
        observer.set(Flags.onlyObserves)
        attach(observer)
    }
}
