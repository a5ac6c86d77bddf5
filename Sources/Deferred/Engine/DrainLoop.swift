/// The loop in which a thread notifies the consumers of settled links. It takes jobs from a queue, and never
/// recurs, so that depth costs no stack (F6).
///
/// The queue establishes the order: everything attached to one link is notified before anything further
/// downstream (F4). A callback that completes another Deferred runs a drain loop of its own, which ends
/// before `resolve` returns (F2).
struct DrainLoop: ~Copyable {
    enum Job {
        /// Notify the consumers of a settled link, which this loop has made `draining`.
        case drain(Link, ConsumerQueue, FinalizerScope?)
        /// Cancel the inputs that a settled list no longer needs; then release what may have their handles.
        case cancel([Link], thenRelease: AnyObject?)
    }

    /// The thread that it runs on.
    let thread = Platform.currentThread
    /// The scope of the current job; see ``FinalizerScope``.
    var scope: FinalizerScope?
    /// The first job in the queue. A linear chain never has more than one job, which is then neither an
    /// enum nor in an array. Set only while `others` is empty and there is no scope.
    var next: (link: Link, consumers: ConsumerQueue)?
    /// Further jobs; created with the first of them.
    private(set) var others: Jobs?
    /// The cancel that is in progress on this loop; see `Cancelling.swift`.
    var cancelInProgress = CancelInProgress.none

    enum CancelInProgress { case none, ofOne, ofSeveral }

    /// A queue of jobs, in the order in which they were enqueued.
    ///
    /// Sound: its properties are accessed by one thread, in functions that call nothing of a user's, so that
    /// accesses do not overlap. (The checks would be 330 of 6,450 instructions for an input of a list that is
    /// cancelled.)
    final class Jobs {
        @exclusivity(unchecked) private var jobs: [Job?] = []
        @exclusivity(unchecked) private var start = 0
        /// Cancels that have yet to begin, and those that were put off; the sources whose cancellers have yet
        /// to run, and those among them that only wait in a queue, as for a permit or an element, which come
        /// first (C7); and the links that were detached.
        @exclusivity(unchecked) var requests: ArraySlice<CancelRequest> = []
        @exclusivity(unchecked) var postponed: ArraySlice<CancelRequest> = []
        @exclusivity(unchecked) var claimed: ArraySlice<Link> = []
        @exclusivity(unchecked) var claimedWaiting: ArraySlice<Link> = []
        @exclusivity(unchecked) var detached: ArraySlice<Link> = []
        /// Permits to be released after all jobs, those included that follow from them.
        @exclusivity(unchecked) var permits: [HeldPermit] = []

        var count: Int { jobs.count - start }

        func append(_ job: consuming Job) { jobs.append(job) }

        func removeFirst() -> Job? {
            guard start < jobs.count else { return nil }
            let job = jobs[start].take()
            start += 1
            if start == jobs.count {
                jobs.removeAll(keepingCapacity: true)
                start = 0
            } else if start >= 64 && start * 2 >= jobs.count {
                jobs.removeSubrange(..<start)
                start = 0
            }
            return job
        }

        /// Removes and returns the jobs after the first `count`.
        func removeAll(after count: Int) -> [Job] {
            let later = jobs[(start + count)...].compactMap(\.self)
            jobs.removeSubrange((start + count)...)
            return later
        }
    }

    init(_ scope: consuming FinalizerScope? = nil) {
        self.scope = consume scope
    }

    // MARK: The queue

    @inline(never)
    mutating func enqueue(_ job: consuming Job) {
        let jobs = jobs
        if let (link, consumers) = next.take() { jobs.append(.drain(link, consumers, nil)) }
        jobs.append(job)
    }

    /// Enqueues the notification of `consumers`, with the caller's reference to `link`.
    @inline(__always)
    mutating func enqueueDrain(_ link: consuming Link, _ consumers: ConsumerQueue, _ scope: FinalizerScope?) {
        if next == nil && scope == nil && (others?.count ?? 0) == 0 {
            next = (link, consumers)
        } else {
            enqueue(.drain(link, consumers, scope))
        }
    }

    /// `others`, created if it is not there yet.
    var jobs: Jobs {
        @inline(never) mutating get {
            if let others { return others }
            let fresh = Jobs()
            others = fresh
            return fresh
        }
    }

    mutating func enqueue(_ request: CancelRequest) {
        if request.isPostponed { jobs.postponed.append(request) } else { jobs.requests.append(request) }
    }

    private var queued: Int { (next == nil ? 0 : 1) + (others?.count ?? 0) }

    /// Runs all jobs, and those that they enqueue.
    @inline(__always)
    mutating func run() {
        if scope != nil { scope = nil }
        if next != nil || others != nil { runJobs() }
    }

    /// Not inlined, as most chains leave nothing in the queue.
    @inline(never)
    private mutating func runJobs() {
        while true {
            if let (link, consumers) = next.take() {
                drain(link, consumers, 0, isOwned: true)
                continue
            }
            guard let job = others?.removeFirst() else {
                guard let others, !others.permits.isEmpty else { return }
                others.permits.removeFirst().release()
                continue
            }
            switch consume job {
            case .drain(let link, let consumers, let scope):
                self.scope = consume scope
                drain(link, consumers, queued, isOwned: true)
            case .cancel(let links, let released):
                cancel(links)
                withExtendedLifetime(released) {}
            }
        }
    }

    // MARK: Draining

    /// Notifies `consumers`, and those attached in the meantime, of the outcome of `link`.
    ///
    /// - Parameters:
    ///   - mark: The number of jobs in the queue before those that follow from this.
    ///   - isOwned: Whether the caller owns the only reference to `link` that this thread has.
    @inline(__always)
    mutating func drain(
        _ link: borrowing Link, _ consumers: consuming ConsumerQueue, _ mark: Int, isOwned: Bool
    ) {
        assert(link.word.load(ordering: .relaxed) & Word.draining != 0)
        var wasPassedOn = false
        repeat {
            while !consumers.isEmpty {
                // A link that no handle could unpause counts as unpaused (P1). Its consumers are notified
                // here, and not by its `deinit`, which would recur (F6).
                if link.isPaused, !(isOwned && link.isUniquelyReferenced),
                    suspend(link, &consumers, wasPassedOn, mark)
                {
                    scope = nil
                    return
                }
                guard let consumer = consumers.removeFirst() else { break }
                if deliver(link.payload, to: consumer) { wasPassedOn = true }
            }
            // No thread can attach to a link to which there is no other reference.
            if isOwned && link.isUnreachable(with: Word.settled | Word.draining) {
                if wasPassedOn { link.state.handle() }
                break
            }
            consumers = link.takeListOrBecomeIdle(wasPassedOn)
        } while !consumers.isEmpty
        if scope != nil { scope = nil }
    }

    /// Notifies `consumers` of the outcome of a link that the caller retains, which this thread has made
    /// `draining`; then those attached in the meantime.
    mutating func drainRetained(_ link: borrowing Link, _ consumers: consuming ConsumerQueue) {
        let current = scope
        drain(link, consumers, queued, isOwned: false)
        scope = current
    }

    /// Appends a consumer to the list of a locked, settled link, and unlocks that; notifies the consumer at
    /// once if the link is idle (F3).
    mutating func append(_ consumer: Link, to link: Link, _ word: UInt) {
        let added = Link.append(consumer, to: word)
        guard Link.isIdle(word) else { return link.unlock(added) }
        link.activeThread = thread
        let consumers = ConsumerQueue(takenFrom: added)
        link.unlock(word | Word.draining)
        drainRetained(link, consumers)
    }
}

// MARK: - Delivering

/// Delivering an outcome to one consumer: running its step, or doing what else it has to.
extension DrainLoop {
    /// Notifies one consumer. Returns true if a failure belongs to it from now on: it took the outcome, or
    /// would have, had it not been cancelled (U1).
    @inline(__always)
    mutating func deliver(_ outcome: borrowing Link.Payload, to taken: Unmanaged<Link>) -> Bool {
        // Sound: the list's reference, which this thread owns. It is forwarded and never copied, since a link
        // with no other reference needs no lock, and may be bypassed (L6).
        let consumer = taken.takeRetainedValue()
        if consumer.isUnreachable(with: 0), consumer.hasOnlyStep {
            return runUnreachable(consume consumer, with: outcome)
        }
        let word = consumer.lock()
        guard consumer.phase == .waiting else {
            consumer.unlock(word)
            return false
        }
        let isConsumer = !consumer.onlyObserves
        let isCancelled = consumer.begin(on: thread)
        if isCancelled {
            performCancelled(consume consumer, word)
            return isConsumer
        }
        return perform(consume consumer, word, with: outcome) && isConsumer
    }

    /// Runs the step of an unreachable link, which needs no lock.
    @inline(__always)
    private mutating func runUnreachable(
        _ link: consuming Link, with outcome: borrowing Link.Payload
    ) -> Bool {
        let isConsumer = !link.onlyObserves
        _ = link.begin(on: thread)
        let result = link.takeStep().run(outcome)
        if result.kind == .wait {
            conclude(consume link, result)
        } else {
            link.payload = result
            link.state = link.state.settled()
            link.word.store(Word.settled, ordering: .relaxed)
        }
        return isConsumer
    }

    /// Does with the outcome that a link waited for what the link has to. It is locked, and `running` on this
    /// thread; unlocks it.
    @inline(__always)
    mutating func perform(
        _ link: consuming Link, _ word: UInt, with outcome: borrowing Link.Payload
    ) -> Bool {
        switch link.payload.kind {
        case .step where !Recording.isOn:
            let step = link.takeStep()
            link.unlock(word)
            conclude(consume link, step.run(outcome))
            return true
        case .adopt, .observer, .awaiting:
            return take(outcome, by: consume link, word)
        default:
            return performOther(consume link, word, with: outcome)
        }
    }

    /// Settles a locked link that takes the outcome unchanged. Then notifies the list, or resumes the Task,
    /// that it stands for.
    @inline(never)
    private mutating func take(
        _ outcome: borrowing Link.Payload, by link: consuming Link, _ word: UInt
    ) -> Bool {
        if link.payload.kind == .adopt {
            finish(consume link, word, outcome.copy())
            return true
        }
        let step = link.settleAtEnd(word, with: outcome.copy())
        if step.kind == .awaiting {
            step.resume()
            return true
        }
        let index = step.inputIndex
        return step.takeReference(as: ListObserver.self).receive(at: index, by: link, in: &self)
    }

    /// As `perform`, for the kinds that few links have. Not inlined, so that the drain loop itself stays
    /// small.
    @inline(never)
    private mutating func performOther(
        _ link: consuming Link, _ word: UInt, with outcome: borrowing Link.Payload
    ) -> Bool {
        let payload = link.takeStep()
        link.unlock(word)
        switch payload.kind {
        case .step:
            let result = Recording.run(payload, of: link, outcome)
            conclude(consume link, result)
            return true
        case .dispatchedStep:
            submit(payload.takeReference(as: DispatchedStep.self), of: consume link, with: outcome.copy())
            return true
        case .forward:
            return settle(payload.takeReference(as: Link.self), outcome.copy(), through: link)
        case .release:
            let permit = payload.takeReference(as: HeldPermit.self)
            // If a list may now cancel those that wait for it, the list comes first: none of them starts only
            // to be cancelled (C7).
            let isLast = permit.isAwaited && link.leadsToCancellingList
            if isLast { jobs.permits.append(permit) } else { permit.release() }
            conclude(consume link, outcome.copy())
            return true
        case .noOp:
            conclude(consume link, .none)
            return false
        default:
            preconditionFailure("a waiting link has a step")
        }
    }

    /// As `perform`, with a cancellation in place of the outcome.
    @inline(never)
    mutating func performCancelled(_ link: consuming Link, _ word: UInt) {
        let cancelled = Link.Payload.failure(CancellationError())
        _ = perform(consume link, word, with: cancelled)
    }
}

extension Link {
    /// Makes a waiting or dispatched link `running`, on this thread, which then owns its step. Returns
    /// whether that receives `CancellationError` in place of the outcome. Under the lock.
    @inline(__always)
    func begin(on thread: UInt) -> Bool {
        activeThread = thread
        upstream = .none
        return state.run() && endsMark()
    }

    @inline(never)
    private func endsMark() -> Bool {
        let (isInterrupted, isProtected) = state.takeInterruption()
        let isEnded = isProtected && coldState?.cancelMark?.end() ?? false
        return isInterrupted || isEnded
    }

    /// Makes a waiting or detached link `running`, on this thread, which then owns its step and has decided
    /// what that receives. Under the lock.
    func take(on thread: UInt) {
        activeThread = thread
        upstream = .none
        state.take()
    }

    /// Takes out the step. Under the lock, in the critical section that makes the link `running`.
    @inline(__always)
    func takeStep() -> Payload {
        var payload = Payload.none
        swap(&payload, &self.payload)
        return payload
    }

    /// Whether an unreachable link has a step to run, and nothing but the outcome matters when it is settled.
    @inline(__always)
    fileprivate var hasOnlyStep: Bool {
        phase == .waiting && payload.kind == .step && coldState == nil && state.marks.isEmpty
            && !Recording.isOn
    }

    /// Settles a locked link at the end of a chain, that of a list or of a Task that awaits, and returns its
    /// step. It has no consumers and no cold state, and its failure belongs to the list or the Task (D3).
    @inline(__always)
    fileprivate func settleAtEnd(_ word: UInt, with outcome: consuming Payload) -> Payload {
        assert(word & ~Word.flags == 0 && coldState == nil)
        if Recording.isOn && payload.kind == .awaiting { Recording.settled(self, .value(())) }
        swap(&outcome, &payload)
        var settled = state.settled()
        settled.handle()
        state = settled
        unlock(word | Word.settled)
        return outcome
    }

    /// Takes the consumers attached since the drain loop took the list. If there are none, the link becomes
    /// idle.
    @inline(__always)
    func takeListOrBecomeIdle(_ wasPassedOn: Bool) -> ConsumerQueue {
        let word = lock()
        if wasPassedOn { state.handle() }
        let consumers = ConsumerQueue(takenFrom: word)
        unlock(consumers.isEmpty ? word & ~Word.draining : word & Word.flags)
        return consumers
    }
}
