internal import Synchronization

/// The inputs of a list with a limit (D5): taken out of a sequence and started one by one, while there is room
/// and a result that was asked for needs them.
///
/// One call at a time starts inputs (`startInputs`); what changes meanwhile is left in the state for it to see.
/// Only that call touches the sequence and runs the user's closure, and never under the lock.
final class LimitedInputs<Value: Sendable>: ListOwner {
    private let site: DeferredDiagnostic.Location
    private let semaphore: DeferredSemaphore?
    private let state: SpinLocked<LimitedListState>

    enum Limit { case count(Int), semaphore(DeferredSemaphore) }

    init<S: Sequence>(
        _ sequence: sending S, _ limit: Limit, _ site: DeferredDiagnostic.Location,
        _ body: @escaping @Sendable (S.Element) -> Deferred<Value>
    ) {
        self.site = site
        let count = sequence.underestimatedCount
        let claimedCount = count > 1_000_000 ? 0 : count
        let (free, semaphore): (Int, DeferredSemaphore?) =
            switch limit {
            case .count(let count): (count, nil)
            case .semaphore(let semaphore): (.max, semaphore)
            }
        self.semaphore = semaphore
        let values = DeferredTaskLocals.carried
        state = SpinLocked(
            LimitedListState(
                InputSequence(sequence, values) { body($0).link }, free: free, needsPermits: semaphore != nil,
                claimedCount: claimedCount))
    }

    fileprivate func releaseHandle() {
        state.withLock { $0.releaseHandle() }
        DrainLoop.with { loop in
            startInputs(in: &loop)
            leaveRunning(in: &loop)
        }
    }

    /// Adds a list, which observes all inputs, also those started before.
    func join(_ list: ListObserver, _ backlog: Backlog?) {
        state.withLock { $0.join((list, backlog)) }
        startInputs()
    }

    /// Removes a list that is settled or cancelled. After the last one, no input starts any more. The sequence, which
    /// may have the only handles of inputs, is retained until these have been cancelled.
    func didStop(_ list: ListObserver) {
        let removed = state.withLock { $0.stop(list) }
        withExtendedLifetime(removed) {}
        startInputs()
    }

    func didLeave(in loop: inout DrainLoop) {
        let retained = state.withLock { $0.leave() }
        leaveRunning(in: &loop)
        withExtendedLifetime(retained) {}
    }

    /// Detaches what this list has attached to inputs in progress, once no result needs them and none can be asked for
    /// any more (V3). Where an observer is left, it is the root of a cancel whose end it waits for: what the list has
    /// attached then stays as long, but counts as a consumer no more than the observer does.
    private func leaveRunning(in loop: inout DrainLoop) {
        for link in state.withLock({ $0.unneededLinks }) {
            let (need, isDisowned) = link.locked { (link.need, link.state.marks.contains(.handled)) }
            if need == .consumers { continue }
            if isDisowned { link.waitedFor?.disownFailure() }
            if need == .observers { link.set(Link.Flags.onlyObserves) } else { loop.detachPending(link) }
        }
    }

    /// Starts no further input, and cancels those in progress.
    func cancel() {
        let inputs = state.withLock { $0.cancel() }
        startInputs()
        Link.cancel(state.withLock { $0.links })
        withExtendedLifetime(inputs) {}
    }

    /// Does what there is to do, unless another call is doing it. A loop, also where inputs are settled as soon
    /// as they are started.
    func startInputs() { DrainLoop.with { startInputs(in: &$0) } }

    /// As `startInputs()`; the callbacks of lists that are settled thereby run later, on `loop` (F6).
    private func startInputs(in loop: inout DrainLoop) {
        if state.withLock({ $0.beginStarting() }) == .begins { performSteps(in: &loop) }
    }

    /// Does what there is to do, for the call that starts inputs.
    private func performSteps(in loop: inout DrainLoop) {
        while true {
            switch state.withLock({ $0.nextStep() }) {
            case .end: return
            case .observe(let links, let list):
                for link in links { list.add(link, site, in: &loop) }
            case .release: break
            case .cancelAcquiring(let arrival): arrival.cancel()
            case .close(let lists, let cutOff, let count): close(lists, cutOff, count, in: &loop)
            case .takeElement: takeElement()
            case .acquirePermit: acquirePermit()
            case .start(let lists, let permit): start(for: lists, with: permit, in: &loop)
            case .returnPermit(let permit): permit.release(in: &loop)
            }
        }
    }

    /// Ends the lists, for which no further input starts: as the sequence has ended, or because of an error.
    private func close(
        _ lists: [ListObserver], _ cutOff: (any Error)?, _ missingCount: Int, in loop: inout DrainLoop
    ) {
        let missing = (0..<missingCount).map { _ in
            Link(.settled, .failure(cutOff ?? CancellationError()), site.of(.hidden))
        }
        for link in missing { link.disownFailure() }
        for list in lists { list.close(cutOff: cutOff, missing: missing, in: &loop) }
    }

    /// Takes the next element out of the sequence, to start its input later.
    private func takeElement() {
        let isThere = state.withLock { $0.inputs }?.take() ?? false
        state.withLock { isThere ? $0.noteElement() : $0.noteEnd() }
    }

    /// Takes a permit of the semaphore for the next input, or waits for one in its queue.
    private func acquirePermit() {
        let arrival: Deferred<Void>? = semaphore?.acquire().attach(nil, site.of(.hidden)) { [self] input in
            didAcquire(input.result())
            return .value(())
        }
        state.withLock { $0.waitForPermit(arrival) }
    }

    /// Starts the next input with the permit. If the semaphore has refused it, starts no further input.
    private func didAcquire(_ result: Result<DeferredSemaphore.Permit, any Error>) {
        let (arrival, acquisition) = state.withLock { $0.acquire(result) }
        withExtendedLifetime(arrival) {}
        switch acquisition {
        case .begins: DrainLoop.with { performSteps(in: &$0) }
        case .isInProgress: break
        case .isUnneeded: try? result.get().release()
        }
    }

    /// Starts the next input, if there is one.
    private func start(
        for lists: [ListObserver], with permit: DeferredSemaphore.Permit?, in loop: inout DrainLoop
    ) {
        guard let made = state.withLock({ $0.inputs })?.next() else {
            state.withLock { $0.noteEnd() }
            permit?.release(in: &loop)
            return
        }
        if let permit { made.release(permit, site) }
        // A link of its own, since the list must not keep alive what alone could complete the input (A1).
        let link = made.attach(.step { $0.copy() }, site)
        state.withLock { $0.noteStart(of: link) }
        for list in lists { list.add(link, site, in: &loop) }
        // Attached after the lists: the next input starts when they have been notified.
        let key = ObjectIdentifier(link)
        let hook = Payload.hook { [self] loop, _ in
            let ended = state.withLock { $0.noteEnd(of: key) }
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
