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
        /// How many more may be in progress.
        var free: Int
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
    private let state: SpinLocked<State>

    init<S: Sequence>(
        _ sequence: sending S, _ limit: Int, _ site: DeferredDiagnostic.Location,
        _ body: @escaping @Sendable (S.Element) -> Deferred<Value>
    ) {
        self.site = site
        let count = sequence.underestimatedCount
        claimedCount = count > 1_000_000 ? 0 : count
        let values = DeferredTaskLocals.carried
        state = SpinLocked(State(free: limit, inputs: InputSequence(sequence, values) { body($0).link }))
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
    /// any more (V3). Only where nothing but the hook of `start(for:in:)` is left: an observer may be the root of a
    /// cancel that has yet to reach the input.
    private func leaveRunning(in loop: inout DrainLoop) {
        let links = state.withLock { state in
            let isLeft = state.isReleased && state.isStopped && !state.isCancelled && !state.hasRequests
            return isLeft ? Array(state.running.values) : []
        }
        for link in links {
            let (isUnobserved, isDisowned) = link.locked {
                let word = link.word.load(ordering: .relaxed)
                let only = Link.only(in: word)?._withUnsafeGuaranteedRef { only in
                    only.locked { only.payload.kind == .hook }
                }
                return (only == true, link.state.marks.contains(.handled))
            }
            guard isUnobserved else { continue }
            if isDisowned { link.waitedFor?.disownFailure() }
            loop.detachPending(link)
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
        guard isFirst else { return }
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
        let isOver = state.isExhausted || state.isStopped
        if isOver, !state.requests.isEmpty {
            let missingCount = state.isExhausted ? 0 : max(0, claimedCount - state.startedCount)
            state.tickets = [:]
            return { [requests = state.requests.removeAll(), isCutOff = !state.isExhausted] loop in
                let missing = (0..<missingCount).map { _ in
                    Link(.settled, .failure(CancellationError()), self.site.of(.hidden))
                }
                for (list, _) in requests { list.close(isCutOff: isCutOff, missing: missing, in: &loop) }
            }
        }
        if !isOver, state.free > 0, state.hasDemand {
            state.free -= 1
            return { [requests = state.requests.elements] in self.start(for: requests, in: &$0) }
        }
        // Before `isStarting` is taken back: after that another call may be here.
        if isOver, let inputs = state.inputs.take() { return { _ in withExtendedLifetime(inputs) {} } }
        state.isStarting = false
        return nil
    }

    /// Starts the next input, if there is one.
    private func start(for requests: [Request], in loop: inout DrainLoop) {
        guard let made = state.withLock({ $0.inputs })?.next() else {
            return state.withLock { $0.isExhausted = true }
        }
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
        let hook = Link.Payload.hook { [self] loop, _ in
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

    init(_ inputs: LimitedInputs<Value>) { self.inputs = inputs }

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
/// Sound as `@unchecked Sendable`: the sequence was sent here by its owner (`sending`), and `next` is called
/// only by the one call that is in `LimitedInputs.startInputs`, whose calls are ordered by that object's lock.
private final class InputSequence: @unchecked Sendable {
    /// Takes the next element and starts its input; returns nil at the end.
    let next: () -> Link?

    /// - Parameter values: What the sequence and `start` see (X2).
    init<S: Sequence>(
        _ sequence: sending S, _ values: CarriedValues?, _ start: @escaping (S.Element) -> Link
    ) {
        var iterator: S.Iterator?
        let next = {
            if iterator == nil { iterator = sequence.makeIterator() }
            return iterator?.next().map(start)
        }
        self.next = if let values { { values.run(next) } } else { next }
    }
}
