/// One run of callbacks on one thread: what a link's settling sets off, as a loop over a queue and never as a
/// recursion, so that depth costs no stack (F6).
///
/// The queue makes the order: everything attached to one link is told before anything further downstream
/// (F4). A callback that fires another Deferred makes a frame of its own, which is done before `resolve`
/// returns (F2).
struct Frame: ~Copyable {
    /// Something for the frame to do in its turn.
    enum Task {
        /// Tell those who wait for a link that has settled, and whom this frame has made `busy`.
        case tell(Link, Batch, Scope?)
        /// Cancel what a list that has fired no longer needs.
        case cancelInputs(ListState)
        case cancel(Link)
    }

    /// The thread that it runs on.
    let thread = Platform.currentThread
    /// The scope of what is going on now; see ``Scope``.
    private var scope: Scope?
    /// The queue. A linear chain never has more than one task in it, and so needs no array.
    private var first: Task?
    private var rest: [Task?] = []
    private var restStart = 0

    init(_ scope: consuming Scope? = nil) {
        self.scope = consume scope
    }

    // MARK: The queue

    mutating func enqueue(_ task: consuming Task) {
        if first == nil && restStart == rest.count {
            first = task
        } else {
            rest.append(task)
        }
    }

    private mutating func dequeue() -> Task? {
        if let task = first.take() { return task }
        guard restStart < rest.count else { return nil }
        let task = rest[restStart].take()
        restStart += 1
        if restStart == rest.count {
            rest.removeAll(keepingCapacity: true)
            restStart = 0
        } else if restStart >= 64 && restStart * 2 >= rest.count {
            rest.removeSubrange(..<restStart)
            restStart = 0
        }
        return task
    }

    private var queued: Int { (first == nil ? 0 : 1) + rest.count - restStart }

    /// Takes back the tasks enqueued since there were `count`.
    private mutating func takeTasks(after count: Int) -> [Task] {
        var tasks: [Task] = []
        while let task = dequeue() { tasks.append(task) }
        let later = Array(tasks[count...])
        for task in tasks[..<count] { enqueue(task) }
        return later
    }

    /// Does everything there is to do.
    mutating func run() {
        scope = nil
        while let task = dequeue() {
            switch consume task {
            case .tell(let link, let batch, let scope): tell(consume link, batch, consume scope, queued)
            case .cancelInputs(let list): list.cancelInputs(in: &self)
            case .cancel(let link): cancel(link)
            }
        }
    }

    // MARK: Telling

    /// Tells those in `batch`, and those attached in the meantime, the outcome of `link`.
    ///
    /// - Parameter mark: How many tasks in the queue come before what follows from this.
    private mutating func tell(
        _ link: consuming Link, _ batch: consuming Batch, _ scope: consuming Scope?, _ mark: Int
    ) {
        // The last hold on it is to be this frame's, so that its end comes with the end of the telling.
        self.scope = consume scope
        var link = link
        var batch = batch
        var wasPassedOn = false
        repeat {
            while !batch.isEmpty {
                // Nobody left to unpause it counts as unpaused (P1): told here, and not by its `deinit`,
                // which would recur (F6).
                if link.isPaused, !isKnownUniquelyReferenced(&link), hold(link, &batch, wasPassedOn, mark) {
                    self.scope = nil
                    return
                }
                guard let consumer = batch.removeFirst() else { break }
                if deliver(link.content, to: consumer) { wasPassedOn = true }
            }
            batch = link.takeListOrBecomeIdle(wasPassedOn)
        } while !batch.isEmpty
        self.scope = nil
    }

    /// Becomes the frame of an idle link that had nobody waiting, for the one who now attaches.
    mutating func tellFirst(_ consumer: Link, of link: Link) {
        let wasPassedOn = deliver(link.content, to: Unmanaged.passRetained(consumer))
        let batch = link.takeListOrBecomeIdle(wasPassedOn)
        if !batch.isEmpty { tell(link, batch, nil, queued) }
        run()
    }

    /// Goes on after a turn (`Link.beginTurn`) with those who attached in it.
    mutating func endTurn(of link: Link, _ batch: consuming Batch) {
        tell(link, batch, nil, queued)
        run()
    }

    /// Goes on where a pause held the frame of `link`, which this one has made `busy`.
    mutating func resume(
        _ link: Link, _ batch: consuming Batch, _ scope: consuming Scope?, _ heldBack: [Task]
    ) {
        for task in heldBack { enqueue(task) }
        tell(link, batch, consume scope, 0)
        run()
    }

    /// Gives up the telling of a paused link until it is unpaused. False if it has been unpaused in the
    /// meantime.
    private mutating func hold(_ link: Link, _ batch: inout Batch, _ wasPassedOn: Bool, _ mark: Int) -> Bool {
        // From here on the link may go with its last handle, so those that wait must not point back to it.
        batch.forEach { consumer in
            consumer.locked {
                consumer.upstream = .none
                consumer.teller = 0
            }
        }
        let later = takeTasks(after: mark)
        var word = link.lock()
        guard word & Word.paused != 0, let rare = link.rare else {
            link.unlock(word)
            for task in later { enqueue(task) }
            return false
        }
        word = Link.prepend(batch, to: word) & ~Word.busy
        batch = .empty
        rare.heldScope = scope
        rare.heldBack = later
        if wasPassedOn { link.flags.insert(.handled) }
        link.unlock(word)
        return true
    }

    /// Tells one consumer; true if it took the outcome, so that a failure is its own from now on.
    @inline(__always)
    private mutating func deliver(_ outcome: borrowing Link.Content, to taken: Unmanaged<Link>) -> Bool {
        // The only reference of this frame: whether there is a handle beside it decides L6 (see `bypass`).
        var consumer = taken.takeRetainedValue()
        if consumer.withdrawn { return false }
        let word = consumer.lock()
        guard consumer.phase == .waiting || consumer.phase == .linking else {
            consumer.unlock(word)
            return false
        }
        let content = consumer.startRunning(on: thread)
        let isCancelled = consumer.flags.remove(.cancelPending) != nil
        consumer.unlock(word)
        if isCancelled {
            performCancelled(content, on: &consumer)
            return false
        }
        return perform(content, on: &consumer, with: outcome) && !consumer.onlyObserves
    }

    /// Does what a link was to do with the outcome it waited for. The link is `running`, and ours.
    @inline(__always)
    mutating func perform(
        _ content: consuming Link.Content, on link: inout Link, with outcome: borrowing Link.Content
    ) -> Bool {
        switch content.kind {
        case .step:
            let step = content.takeStep()
            conclude(&link, Recording.isOn ? Recording.run(step, of: link, outcome) : step(outcome))
            return true
        case .adopt:
            settle(link, outcome.copy())
            return true
        case .handover:
            let handover = content.takeUnmanaged(as: Handover.self)
            if let result = Handover.hand(handover, over: link, outcome.copy(), scope, on: thread) {
                conclude(&link, result)
            }
            return true
        case .watch:
            let index = content.watchIndex
            let list = content.takeReference(as: ListState.self)
            let word = link.lock()
            // The list's from now on, or nobody's (D3); in any case not the watch's, which has no handle, and
            // so nobody to tell and nothing rare.
            link.flags.insert(.handled)
            link.content = outcome.copy()
            link.phase = .settled
            link.unlock(word | Word.settled)
            return list.receive(at: index, by: link, in: &self)
        case .forward:
            let target = content.takeReference(as: Link.self)
            settle(link, .value(()))
            return fire(target, outcome.copy())
        case .consume:
            settle(link, .value(()))
            return false
        case .none, .bitwiseValue, .object, .existential, .failure, .wait:
            preconditionFailure("a link that waits has something to do")
        }
    }

    /// Does what a link was to do, with a cancel in place of the outcome it waited for.
    mutating func performCancelled(_ content: consuming Link.Content, on link: inout Link) {
        let cancelled = Link.Content.failure(CancellationError())
        _ = perform(content, on: &link, with: cancelled)
    }

    // MARK: Settling

    /// Takes what a link's step gave.
    @inline(__always)
    mutating func conclude(_ link: inout Link, _ result: consuming Link.Content) {
        if result.kind == .wait {
            wait(&link, for: result.takeReference(as: Link.self))
        } else {
            settle(link, result)
        }
    }

    /// Gives a running link its outcome.
    @inline(__always)
    mutating func settle(_ link: Link, _ outcome: consuming Link.Content) {
        let word = link.lock()
        finish(link, word, outcome)
    }

    /// Fires a source on behalf of the engine; false if it was fired before.
    mutating func fire(_ source: Link, _ outcome: consuming Link.Content) -> Bool {
        let word = source.lock()
        guard source.phase == .source else {
            source.unlock(word)
            return false
        }
        finish(source, word, outcome)
        return true
    }

    /// Gives a locked link, which has nothing to do any more, its outcome, unlocks it and enqueues the
    /// telling.
    @inline(__always)
    mutating func finish(_ link: Link, _ word: UInt, _ outcome: consuming Link.Content) {
        if link.rare != nil || link.flags.contains(.hasClaim) || Recording.isOn {
            return finishRare(link, word, outcome)
        }
        link.content = outcome
        link.phase = .settled
        link.teller = thread
        if word & ~Word.flags == 0 {
            link.unlock(Word.settled)
        } else {
            let batch = Batch(takenFrom: word)
            link.unlock(Word.settled | Word.busy)
            enqueue(.tell(link, batch, scope))
        }
    }

    @inline(never)
    private mutating func finishRare(_ link: Link, _ word: UInt, _ outcome: consuming Link.Content) {
        let claim = link.takeClaim()
        let flags = link.flags
        let isRecorded = Recording.isOn
        if isRecorded { Recording.fired(link, outcome) }
        link.content = outcome
        link.phase = .settled
        link.teller = thread
        defer { claim?.end(link, flags, fired: nil) }
        guard let rare = link.rare else {
            let batch = Batch(takenFrom: word)
            link.unlock(Word.settled | (batch.isEmpty ? 0 : Word.busy))
            if isRecorded { Recording.describeFailure(of: link) }
            return enqueueTelling(link, batch, scope)
        }
        if flags.contains(.cancellerRuns), rare.cancellerThread != thread {
            link.flags.remove(.cancellerRuns)
        }
        // Taken out under the lock, let go after it: what goes may be a user's.
        let canceller = rare.canceller.take()
        let list = rare.list.take()
        var following: [Link] = []
        swap(&following, &rare.following)
        var finalizers: [Finalizer] = []
        swap(&finalizers, &rare.finalizers)
        let held = rare.heldScope.take()
        let isShielded = flags.contains(.shielded)
        let batch = Batch(takenFrom: word)
        link.unlock(Word.settled | (word & Word.paused) | (batch.isEmpty ? 0 : Word.busy))

        if isRecorded { Recording.describeFailure(of: link) }
        var inner = Scope.join(held, scope)
        if !finalizers.isEmpty { inner = Scope(finalizers, link.content.copy(), in: inner) }
        enqueueTelling(link, batch, inner)
        for follower in following {
            if isShielded { follower.goOnConsuming() } else { withdraw(follower) }
        }
        _ = consume canceller
        _ = consume list
    }

    private mutating func enqueueTelling(_ link: Link, _ batch: Batch, _ scope: Scope?) {
        if !batch.isEmpty { enqueue(.tell(link, batch, scope)) }
    }

    /// Holds the present scope open until `link` is done.
    mutating func holdScope(with link: Link) {
        guard let scope else { return }
        let rare = link.ensureRare()
        let held = link.locked { rare.heldScope.take() }
        let joined = Scope.join(held, scope)
        link.locked { rare.heldScope = joined }
    }

    var hasScope: Bool { scope != nil }
}

extension Link {
    @inline(__always)
    var isPaused: Bool { word.load(ordering: .relaxed) & Word.paused != 0 }

    /// Whether it has its outcome and nobody is, or has yet to be, told.
    @inline(__always)
    static func isIdle(_ word: UInt) -> Bool {
        word & (Word.settled | Word.busy | Word.paused) == Word.settled
    }

    /// Makes a waiting link `running` and gives what it is to do. Under the lock; the caller owns the step.
    @inline(__always)
    func startRunning(on thread: UInt) -> Content {
        var content = Content.none
        swap(&content, &self.content)
        phase = .running
        teller = thread
        upstream = .none
        return content
    }

    /// Ends the turn of a step that has run in place (`beginTurn`), with its answer, and tells those who
    /// attached in the meantime. Gives the link that the step would have been attached with.
    @usableFromInline
    func endTurn(_ answer: consuming Content, _ site: DeferredDiagnostic.Location) -> Link {
        let consumer: Link
        if answer.kind == .wait {
            let inner = answer.takeReference(as: Link.self)
            if Link.isIdle(inner.word.load(ordering: .acquiring)) {
                consumer = Link(.settled, inner.takeLook(), site)
            } else {
                // Nobody can wait for what nobody has seen yet: no ring to look for.
                consumer = inner.attach(.adopt, site)
            }
        } else {
            consumer = Link(.settled, answer, site)
        }
        let batch = takeListOrBecomeIdle(true)
        if !batch.isEmpty {
            var frame = Frame()
            frame.endTurn(of: self, batch)
        }
        return consumer
    }

    /// What has been attached since the frame that is telling took the list; none, and then the link is idle.
    @inline(__always)
    fileprivate func takeListOrBecomeIdle(_ wasPassedOn: Bool) -> Batch {
        let word = lock()
        if wasPassedOn { flags.insert(.handled) }
        if word & ~Word.flags == 0 {
            unlock(word & ~Word.busy)
            return .empty
        }
        let batch = Batch(takenFrom: word)
        unlock(word & Word.flags)
        return batch
    }
}
