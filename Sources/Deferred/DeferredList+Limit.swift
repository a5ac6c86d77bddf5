/// The inputs of a list with a limit (D5): taken out of a sequence and started one by one, while there is room
/// and a result that was asked for needs them.
///
/// One call at a time starts inputs (`startInputs`); what changes meanwhile is left in the state for it to see.
/// Only that call touches the sequence and runs the user's closure, and never under the lock.
final class LimitedInputs<Value: Sendable>: Sendable {
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
        /// Results that were asked for and have yet to observe the inputs started before.
        var joining: [(list: ListObserver, handle: LimitedListHandle<Value>)] = []
        /// Results that were asked for and need all inputs.
        var lists: [ListObserver] = []
        /// Results that need no further input.
        var leaving: [ListObserver] = []
        /// How many outcomes wait to be taken out of a list's `completed` sequence.
        var backlogs: [ObjectIdentifier: Int] = [:]
        weak var handle: LimitedListHandle<Value>?
        /// Whether the handles were released, so that no further result can be asked for.
        var isReleased = false
        /// The sequence with the body, until no further input starts.
        var inputs: InputSequence?

        /// Whether a list has use for a further input now. One that was decided or cancelled has none, though it may
        /// be yet to leave (D5).
        var hasDemand: Bool {
            lists.contains { list in
                backlogs[ObjectIdentifier(list), default: 0] < InputSequence.backlogLimit && list.isUndecided
            }
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

    /// Sets the handle that remembers the inputs started.
    fileprivate func setHandle(_ handle: LimitedListHandle<Value>) {
        state.withLock { $0.handle = handle }
    }

    fileprivate func releaseHandle() {
        state.withLock { $0.isReleased = true }
        startInputs()
    }

    /// Adds a list, which observes all inputs, also those started before.
    fileprivate func join(_ list: ListObserver, _ handle: LimitedListHandle<Value>) {
        state.withLock { $0.joining.append((list, handle)) }
        startInputs()
    }

    /// Removes a list that is settled or cancelled. After the last one, no input starts any more. Returns the
    /// sequence, to be released after the inputs have been cancelled.
    func leave(settled list: ListObserver) -> AnyObject? {
        let inputs = state.withLock { $0.inputs }
        remove(list, isSettled: true)
        return inputs
    }

    /// Removes a list whose outcomes are no longer read. Results that are asked for later may start inputs.
    func leave(unread list: ListObserver) {
        remove(list, isSettled: false)
    }

    private func remove(_ list: ListObserver, isSettled: Bool) {
        let unobserved = state.withLock { state in
            let isReading = state.lists.contains { $0 === list }
            // Releases no last reference: the caller has one.
            state.lists.removeAll { $0 === list }
            let joining = state.joining.firstIndex { $0.list === list }.map { state.joining.remove(at: $0) }
            if !isSettled && isReading { state.leaving.append(list) }
            state.backlogs[ObjectIdentifier(list)] = nil
            if isSettled && state.lists.isEmpty && state.joining.isEmpty { state.isStopped = true }
            return joining
        }
        withExtendedLifetime(unobserved) {}
        startInputs()
    }

    /// Records that outcomes were added to, or taken out of, the `completed` sequence of `list`.
    func changeBacklog(of list: ListObserver, by change: Int) {
        state.withLock { state in
            guard state.lists.contains(where: { $0 === list }) else { return }
            state.backlogs[ObjectIdentifier(list), default: 0] += change
        }
        if change < 0 { startInputs() }
    }

    /// Starts no further input, and cancels those in progress.
    fileprivate func cancel(_ handle: LimitedListHandle<Value>) {
        let inputs = state.withLock { state in
            state.isStopped = true
            state.isCancelled = true
            return state.inputs
        }
        startInputs()
        Link.cancel(handle.started)
        withExtendedLifetime(inputs) {}
    }

    /// Does what there is to do, unless another call is doing it. A loop, also where inputs are settled as soon
    /// as they are started.
    private func startInputs() {
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
            let (list, handle) = state.joining.removeFirst()
            state.lists.append(list)
            return { for link in handle.started { list.add(link, self.site) } }
        }
        if !state.leaving.isEmpty {
            return { [lists = state.leaving.takeAll()] in
                for list in lists { list.close(isCutOff: true, missing: []) }
            }
        }
        if state.isReleased && state.lists.isEmpty { state.isStopped = true }
        let isOver = state.isExhausted || state.isStopped
        if isOver, !state.lists.isEmpty {
            let missingCount = state.isExhausted ? 0 : max(0, claimedCount - state.startedCount)
            return { [lists = state.lists.takeAll(), isCutOff = !state.isExhausted] in
                let missing = (0..<missingCount).map { _ in
                    Link(.settled, .failure(CancellationError()), self.site.of(.hidden))
                }
                for list in lists { list.close(isCutOff: isCutOff, missing: missing) }
            }
        }
        if !isOver, state.free > 0, state.hasDemand {
            state.free -= 1
            return { [lists = state.lists] in self.start(for: lists) }
        }
        // Before `isStarting` is taken back: after that another call may be here.
        if isOver, let inputs = state.inputs.take() { return { withExtendedLifetime(inputs) {} } }
        state.isStarting = false
        return nil
    }

    /// Starts the next input, if there is one.
    private func start(for lists: [ListObserver]) {
        guard let made = state.withLock({ $0.inputs })?.next() else {
            return state.withLock { $0.isExhausted = true }
        }
        // A link of its own, since the list must not keep alive what alone could complete the input (A1).
        let link = made.attach(.step { $0.copy() }, site)
        let handle = state.withLock { state in
            state.startedCount += 1
            return state.handle
        }
        handle?.append(link)
        for list in lists { list.add(link, site) }
        // Attached after the lists: the next input starts when they have been notified.
        link.observe { [self] in
            state.withLock { $0.free += 1 }
            startInputs()
        }
        // The list may have been cancelled while the input was being made.
        if state.withLock({ $0.isCancelled }) { link.cancel() }
    }
}

/// What the handles of a list with a limit retain: its inputs, and those of them that were started, for results that
/// are asked for later. An endless list therefore runs in constant memory once its handles are released.
final class LimitedListHandle<Value: Sendable>: Sendable {
    let inputs: LimitedInputs<Value>
    private let links = SpinLocked<[Link]>([])

    init(_ inputs: LimitedInputs<Value>) {
        self.inputs = inputs
        inputs.setHandle(self)
    }

    deinit { inputs.releaseHandle() }

    fileprivate var started: [Link] { links.withLock { $0 } }

    fileprivate func append(_ link: Link) { links.withLock { $0.append(link) } }

    /// Adds a list, which observes all inputs, also those started before.
    func join(_ list: ListObserver) { inputs.join(list, self) }

    /// Starts no further input, and cancels those in progress.
    func cancel() { inputs.cancel(self) }
}

/// The sequence of a list with a limit. Each element is taken out when its input starts.
///
/// Sound as `@unchecked Sendable`: the sequence was sent here by its owner (`sending`), and `next` is called
/// only by the one call that is in `LimitedInputs.startInputs`, whose calls are ordered by that object's lock.
private final class InputSequence: @unchecked Sendable {
    /// How many outcomes may wait to be taken out of `completed` before no further input starts for it.
    static let backlogLimit = 100

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
