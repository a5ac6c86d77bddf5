internal import Synchronization

/// The inputs of a list with a limit (D5): taken out of a sequence and started one by one, while there is room
/// and a result that was asked for needs them.
///
/// One call at a time starts inputs (`startInputs`); what changes meanwhile is left in the state for it to see.
/// Only that call touches the sequence and runs the user's closure, and never under the lock.
final class LimitedInputs<Value: Sendable>: Sendable {
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
        /// Results that were asked for and have yet to observe the inputs started before.
        var joining: [Request] = []
        /// Results that were asked for and need all inputs.
        var requests: [Request] = []
        /// Results that need no further input.
        var leaving: [ListObserver] = []
        /// The sequence with the body, until no further input starts.
        var inputs: InputSequence?

        /// Whether a list has use for a further input now. One that was decided or cancelled has none, though it may
        /// be yet to leave (D5).
        var hasDemand: Bool {
            requests.contains { list, backlog in !(backlog?.isFull ?? false) && list.isUndecided }
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
        state = SpinLocked(State(free: limit, inputs: InputSequence(sequence) { body($0).link }))
    }

    fileprivate func releaseHandle() {
        state.withLock { $0.isReleased = true }
        startInputs()
    }

    /// Adds a list, which observes all inputs, also those started before.
    func join(_ list: ListObserver, _ backlog: Backlog?) {
        state.withLock { $0.joining.append((list, backlog)) }
        startInputs()
    }

    /// Removes a list that is settled or cancelled. After the last one, no input starts any more. Returns the
    /// sequence, to be released after the inputs have been cancelled.
    func leave(settled list: ListObserver) -> AnyObject? {
        let inputs = state.withLock { $0.inputs }
        remove(isSettled: true) { $0.list === list }
        return inputs
    }

    /// Removes a list whose outcomes are no longer read. Results that are asked for later may start inputs.
    func leave(unread backlog: Backlog) {
        remove(isSettled: false) { $0.backlog === backlog }
    }

    private func remove(isSettled: Bool, _ isLeaving: (Request) -> Bool) {
        let removed = state.withLock { state in
            let joining = state.joining.firstIndex(where: isLeaving).map { state.joining.remove(at: $0) }
            let request = state.requests.firstIndex(where: isLeaving).map { state.requests.remove(at: $0) }
            if !isSettled, let request { state.leaving.append(request.list) }
            if isSettled && state.requests.isEmpty && state.joining.isEmpty { state.isStopped = true }
            return (joining, request)
        }
        withExtendedLifetime(removed) {}
        startInputs()
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
    func startInputs() {
        let isFirst = state.withLock { state in
            let isFirst = !state.isStarting
            state.isStarting = true
            return isFirst
        }
        guard isFirst else { return }
        while let step = state.withLock({ nextStep(&$0) }) { step() }
    }

    /// Returns what the call that starts inputs does next; nil if it is done. Under the lock.
    private func nextStep(_ state: inout State) -> (@Sendable () -> Void)? {
        if !state.joining.isEmpty {
            let request = state.joining.removeFirst()
            state.requests.append(request)
            return { [links = state.links] in for link in links { request.list.add(link, self.site) } }
        }
        if state.isReleased, !state.links.isEmpty {
            return { [links = state.links.takeAll()] in withExtendedLifetime(links) {} }
        }
        if !state.leaving.isEmpty {
            return { [lists = state.leaving.takeAll()] in
                for list in lists { list.close(isCutOff: true, missing: []) }
            }
        }
        if state.isReleased && state.requests.isEmpty { state.isStopped = true }
        let isOver = state.isExhausted || state.isStopped
        if isOver, !state.requests.isEmpty {
            let missingCount = state.isExhausted ? 0 : max(0, claimedCount - state.startedCount)
            return { [requests = state.requests.takeAll(), isCutOff = !state.isExhausted] in
                let missing = (0..<missingCount).map { _ in
                    Link(.settled, .failure(CancellationError()), self.site.of(.hidden))
                }
                for (list, _) in requests { list.close(isCutOff: isCutOff, missing: missing) }
            }
        }
        if !isOver, state.free > 0, state.hasDemand {
            state.free -= 1
            return { [requests = state.requests] in self.start(for: requests) }
        }
        // Before `isStarting` is taken back: after that another call may be here.
        if isOver, let inputs = state.inputs.take() { return { withExtendedLifetime(inputs) {} } }
        state.isStarting = false
        return nil
    }

    /// Starts the next input, if there is one.
    private func start(for requests: [Request]) {
        guard let made = state.withLock({ $0.inputs })?.next() else {
            return state.withLock { $0.isExhausted = true }
        }
        // A link of its own, since the list must not keep alive what alone could complete the input (A1).
        let link = made.attach(.step { $0.copy() }, site)
        state.withLock { state in
            state.startedCount += 1
            if !state.isReleased { state.links.append(link) }
        }
        for (list, _) in requests { list.add(link, site) }
        // Attached after the lists: the next input starts when they have been notified.
        link.observe { [self] in
            state.withLock { $0.free += 1 }
            startInputs()
        }
        // The list may have been cancelled while the input was being made.
        if state.withLock({ $0.isCancelled }) { link.cancel() }
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

    init<S: Sequence>(_ sequence: sending S, _ start: @escaping (S.Element) -> Link) {
        var iterator: S.Iterator?
        next = {
            if iterator == nil { iterator = sequence.makeIterator() }
            return iterator?.next().map(start)
        }
    }
}
