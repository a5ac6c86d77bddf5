/// The loop in which a thread notifies the consumers of settled links. It takes jobs from a queue, and never
/// recurs, so that depth costs no stack (F6).
///
/// The queue establishes the order: everything attached to one link is notified before anything further
/// downstream (F4). A callback that completes another Deferred runs a drain loop of its own, which ends
/// before `resolve` returns (F2).
///
/// Sound: `next` has one reference to its link; what takes it out takes that over.
struct DrainLoop: LoopSteps, ~Copyable {
    enum Job {
        /// Notify the consumers of a settled link, which this loop has made `draining`.
        case drain(Link, ConsumerQueue, FinalizerScope?)
        /// Cancel the inputs that a settled list no longer needs; then leave them.
        case cancel([Link], of: LoopList)
        /// Leave the inputs of a list that were cancelled.
        case leave([Link], of: LoopList)
    }

    /// The thread that it runs on.
    let thread = Platform.currentThread
    private var scopeReference: ColdReference<FinalizerScope>
    /// The first job in the queue, with a reference to its link. A linear chain never has more than one job,
    /// which is then neither an enum nor in an array. Set only while `others` is empty and there is no scope;
    /// `run` leaves none.
    private var next: (link: Unmanaged<Link>, consumers: ConsumerQueue)?
    private var jobsReference = ColdReference<Jobs>(nil)
    /// The cancels in progress on this loop.
    var cancels = CancelWalk()

    /// A queue of jobs, in the order in which they were enqueued.
    ///
    /// Sound: its properties are accessed by one thread, in functions that call nothing of a user's, so that
    /// accesses do not overlap. (The checks were measured to be a twentieth of what an input of a list costs that is
    /// cancelled.)
    final class Jobs {
        @exclusivity(unchecked) private var jobs = Line<Job>()
        /// What is to be done after all jobs, those included that follow from them.
        @exclusivity(unchecked) var last: [@Sendable (inout DrainLoop) -> Void] = []

        var count: Int { jobs.count }

        @inline(never)
        func append(_ job: consuming Job) { jobs.append(job) }

        func removeFirst() -> Job? { jobs.removeFirst() }

        /// Removes and returns the jobs after the first `count`.
        func removeAll(after count: Int) -> [Job] { jobs.removeAll(after: count) }
    }

    init(_ scope: FinalizerScope? = nil) { scopeReference = ColdReference(scope) }

    /// The scope of the current job; see ``FinalizerScope``.
    var scope: FinalizerScope? {
        @inline(__always) get { scopeReference.object }
        @inline(__always) set { scopeReference = ColdReference(newValue) }
    }

    /// Further jobs; created with the first of them.
    var others: Jobs? { @inline(__always) get { jobsReference.object } }

    /// Calls `body` with a new loop, and runs what it enqueues there and what follows from that.
    @inline(__always)
    static func with<R>(_ body: (inout DrainLoop) -> R) -> R {
        var loop = DrainLoop()
        let result = body(&loop)
        loop.run()
        return result
    }

    // MARK: The queue

    /// Enqueues the notification of `consumers`, with the caller's reference to `link`.
    @inline(__always)
    mutating func enqueueDrain(_ link: consuming Link, _ consumers: ConsumerQueue, _ scope: FinalizerScope?) {
        if next == nil && scope == nil && (others?.count ?? 0) == 0 {
            next = (Unmanaged.passRetained(consume link), consumers)
        } else {
            jobs.append(.drain(link, consumers, scope))
        }
    }

    /// `others`, created if it is not there yet, with the job in `next`.
    var jobs: Jobs {
        @inline(never) mutating get {
            let jobs = others ?? Jobs()
            if others == nil { jobsReference = ColdReference(jobs) }
            if let (link, consumers) = next.take() {
                jobs.append(.drain(link.takeRetainedValue(), consumers, nil))
            }
            return jobs
        }
    }

    private var queued: Int { (next == nil ? 0 : 1) + (others?.count ?? 0) }

    /// Runs all jobs, and those that they enqueue.
    @inline(__always)
    mutating func run() {
        scope = nil
        if next != nil || others != nil { runJobs() }
    }

    /// Not inlined, as most chains leave nothing in the queue.
    @inline(never)
    private mutating func runJobs() {
        while true {
            if let (link, consumers) = next.take() {
                drain(link.takeRetainedValue(), consumers, after: 0, isOwned: true)
                continue
            }
            guard let job = others?.removeFirst() else {
                guard let others, !others.last.isEmpty else { return }
                others.last.removeFirst()(&self)
                continue
            }
            switch consume job {
            case .drain(let link, let consumers, let scope):
                self.scope = consume scope
                drain(link, consumers, after: queued, isOwned: true)
            case .cancel(let links, let list):
                begin(links.lazy.map { CancelRequest($0) })
                list.leave(links, in: &self, areCancelled: true)
            case .leave(let links, let list):
                list.leave(links, in: &self, areCancelled: true)
            }
        }
    }

    // MARK: Draining

    /// Notifies `consumers`, and those attached in the meantime, of the outcome of `link`, which this thread has
    /// made `draining`.
    ///
    /// - Parameters:
    ///   - earlier: The number of jobs in the queue before those that follow from this.
    ///   - isOwned: Whether the caller owns the only reference to `link` that this thread has.
    @inline(never)
    mutating func drain(
        _ link: borrowing Link, _ consumers: consuming ConsumerQueue, after earlier: Int, isOwned: Bool
    ) {
        assert(link.word.load(ordering: .relaxed) & Word.draining != 0)
        var wasPassedOn = false
        repeat {
            while !consumers.isEmpty {
                // A link that no handle could unpause counts as unpaused (P1). Its consumers are notified
                // here, and not by its `deinit`, which would recur (F6).
                if link.isPaused, !(isOwned && Unmanaged.passUnretained(link).isUniquelyReferenced),
                    suspend(link, &consumers, wasPassedOn, earlier)
                {
                    scope = nil
                    return
                }
                guard let consumer = consumers.removeFirst() else { break }
                if deliver(link.payload, to: consumer) { wasPassedOn = true }
            }
            consumers = link.takeListOrBecomeIdle(wasPassedOn)
        } while !consumers.isEmpty
        scope = nil
    }

    /// Appends a consumer to the list of a locked, settled link, and unlocks that; notifies the consumer at
    /// once if the link is idle (F3).
    mutating func append(_ consumer: Link, to link: Link, _ word: UInt) {
        let added = Link.append(consumer, to: word)
        guard Link.isIdle(word) else { return link.unlock(added) }
        link.activeThread = thread
        let consumers = ConsumerQueue(takenFrom: added)
        link.unlock(word | Word.draining)
        let current = scope
        drain(link, consumers, after: queued, isOwned: false)
        scope = current
    }
}

/// What a loop does on the floors above.
protocol LoopSteps: ~Copyable {
    /// Notifies one consumer, whose reference it takes over. Returns whether a failure belongs to it from now on (U1).
    mutating func deliver(_ outcome: borrowing Payload, to taken: Unmanaged<Link>) -> Bool
    /// Suspends what a pause holds back. Returns false if the link was unpaused in the meantime.
    mutating func suspend(
        _ link: Link, _ consumers: inout ConsumerQueue, _ wasPassedOn: Bool, _ earlier: Int
    ) -> Bool
    /// Begins requests at their roots, as one cancel (C7).
    mutating func begin(_ requests: some Collection<CancelRequest>)
}

/// A list, as the loop sees it that notifies its observers.
@usableFromInline
class LoopList: SourceList, @unchecked Sendable {
    /// Records that an input has settled. Returns whether its failure counts as handled.
    func receive(at index: Int, by observer: Link, in loop: inout DrainLoop) -> Bool { false }
    /// Leaves the inputs that are still pending.
    func leave(_ observers: [Link], in loop: inout DrainLoop, areCancelled: Bool) {}
}
