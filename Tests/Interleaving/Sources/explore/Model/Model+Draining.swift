/// Settling nodes, and notifying their consumers.
extension Model {
    /// Settles a node. The completion that causes this belongs to `scopes`.
    ///
    /// A failure that a source takes while it is cancelled is that of work that was cancelled, also wherever it is
    /// taken unchanged: it is not reported (U1). Whether that is so of a new failure of a nested Deferred that was
    /// cancelled is left open.
    ///
    /// - Parameter upstream: The node whose outcome it takes unchanged.
    func settle(
        _ node: Node, _ outcome: ModelOutcome, _ scopes: [Scope], from upstream: Node? = nil,
        in loop: DrainLoop
    ) {
        if node.isBeingCancelled || upstream?.wasCancelled ?? false { node.wasCancelled = true }
        node.mayBeUnreported = node.cancelsNested && upstream != nil || upstream?.mayBeUnreported ?? false
        if node.mayBeUnreported, hasThreads, choose(2) == 1 { node.wasCancelled = true }
        if node.wasCancelled { node.isHandled = true }
        node.outcome = outcome
        if node.handles > 0 { didSettle(node.made, outcome) }
        if node.mayBeUnreported, !hasThreads, !node.isHandled { leaveOpen(node) }
        node.state = .settled
        node.work = .nothing
        node.canceller = nil
        node.cancelIsPending = false
        if case .failure = outcome { noteFailure(of: node) }
        join(node, scopes)
        let hasFinalizers = !node.finalizers.isEmpty
        openScope(of: node, outcome)
        if let scope = node.scopeOfDetached { hold(node.scopes, in: scope) }
        let hasConsumers = !node.attached.isEmpty
        if hasConsumers { beginDraining(node) }

        stopFollowing(node, in: loop)
        if hasConsumers {
            loop.queue.append(.drain(node))
        } else if hasFinalizers, loop.isCancelling {
            // What a finalizer does begins when all have been reached that are cancelled as one (C7).
            loop.ended.append(node)
        } else {
            leaveScopes(node)
        }
    }

    /// Detaches a node that is settled from all that it followed.
    private func stopFollowing(_ node: Node, in loop: DrainLoop) {
        let following = node.following
        node.following = []
        guard !following.isEmpty else { return }
        // A cancel reaches all of them (C7), unless its canceller has answered it.
        let wasCancelled = node.isBeingCancelled && !node.isClaimed
        if wasCancelled {
            for follower in following { follower.work = .ignore }
            return cancel(following, in: loop)
        }
        // Until then they count as consumers, and what they wait for may be retained.
        let sources = following.compactMap(\.upstream).filter { retainsMeanwhile($0) }
        pass()
        for follower in following { detach(follower) }
        for source in sources { release(source) }
    }

    func attach(_ consumer: Node, to node: Node) {
        consumer.state = .waiting(for: node)
        let isIdle = mayBeIdle(node)
        node.attached.append(consumer)
        if node.outcome == nil || node.isDraining && !isIdle || node.pauses > 0 { return }
        beginDraining(node)
        inDrainLoop { drain(node, in: $0) }
    }

    /// Whether a drain loop that will reach `node` finds no consumer there, and `node` counts as idle until then: the
    /// rules leave that open.
    private func mayBeIdle(_ node: Node) -> Bool {
        guard node.isDraining, !node.drainingHasBegun,
            !node.attached.contains(where: { $0.waits(for: node) })
        else { return false }
        if hasThreads { return choose(2) == 1 }
        undetermined = "attached to a Deferred all of whose consumers were detached, before it is dequeued"
        return false
    }

    /// Notifies the consumers of `node`. Tasks caused by earlier consumers, which must wait until all have
    /// been notified (F4), are in the queue from `start` on.
    func drain(_ node: Node, in loop: DrainLoop, from start: Int? = nil) {
        let start = start ?? loop.queue.count
        node.drainingHasBegun = true
        while true {
            pass()
            if node.attached.isEmpty { break }
            if node.pauses > 0 { return suspend(node, in: loop, from: start) }
            let consumer = node.attached.removeFirst()
            // A pause does not stop the one that is about to be notified.
            if pauses { pass() }
            guard consumer.waits(for: node), let outcome = node.outcome else { continue }
            let isCancelled =
                (consumer.cancelIsPending || consumer.isCancelRequested) && !consumer.observesSettledList
            consumer.cancelIsPending = false
            consumer.openCancels = 0
            if isCancelled {
                // It would have received the failure: that is one of work that was cancelled (U1).
                node.isHandled = true
                _ = deliver(consumer, .failure(.cancelled), from: node, in: loop)
            } else if deliver(consumer, outcome, from: node, in: loop) {
                node.isHandled = true
            }
        }
        node.isDraining = false
        node.drainingHasBegun = false
        leaveScopes(node)
    }

    private func suspend(_ node: Node, in loop: DrainLoop, from start: Int) {
        if !(node.outcome?.isCancelled ?? false) { noteAnswer(at: node) }
        node.suspendedTasks = Array(loop.queue[start...])
        loop.queue.removeSubrange(start...)
        node.isDraining = false
        node.drainingHasBegun = false
        // Those that were cancelled before the pause took hold do not wait for its end (P1).
        let cancelled = node.attached.filter { consumer in
            (consumer.cancelIsPending || consumer.isCancelRequested) && !consumer.observesSettledList
        }
        node.attached.removeAll { consumer in cancelled.contains { $0 === consumer } }
        for consumer in cancelled {
            (consumer.cancelIsPending, consumer.openCancels) = (false, 0)
            node.isHandled = true
            _ = deliver(consumer, .failure(.cancelled), from: node, in: loop)
        }
        if node.attached.isEmpty, node.suspendedTasks.isEmpty { leaveScopes(node) }
    }

    /// Continues to notify consumers after a pause.
    func resume(_ node: Node) {
        node.pauses = 0
        guard node.outcome != nil, !node.isDraining, !node.attached.isEmpty || !node.suspendedTasks.isEmpty
        else { return }
        beginDraining(node)
        inDrainLoop { loop in
            loop.queue = node.suspendedTasks
            node.suspendedTasks = []
            drain(node, in: loop, from: 0)
        }
    }

    /// Makes a node `running`, on this thread.
    func begin(_ node: Node) {
        node.state = .running
        node.activeThread = currentThread()
    }

    /// Makes a settled node the one whose consumers this thread notifies, or is about to.
    private func beginDraining(_ node: Node) {
        node.isDraining = true
        node.drainingThread = currentThread()
    }

    /// Notifies `consumer`. Returns true if that handles a failure.
    func deliver(_ consumer: Node, _ outcome: ModelOutcome, from upstream: Node, in loop: DrainLoop) -> Bool {
        let work = consumer.work
        consumer.work = .nothing
        begin(consumer)
        let scopes = upstream.scopes
        switch work {
        case .nothing:
            preconditionFailure("what waits has something to do")
        case .ignore:
            consumer.state = .settled
            return false
        case .adopt:
            // What was left to the cancel of this one has been answered with it.
            endRequests(in: consumer)
            settle(consumer, outcome, scopes, from: upstream, in: loop)
            return true
        case .resume(let resumed):
            consumer.state = .settled
            resumed(outcome)
            return true
        case .callback(let callback, let body):
            join(consumer, scopes)
            submit(
                Work(node: consumer, callback: callback, body: body, outcome: outcome, upstream: upstream),
                in: loop)
            return true
        case .observer(let list, let index):
            consumer.state = .settled
            return receive(outcome, at: index, list, from: upstream, in: loop)
        case .forward(let target):
            let wasCancelled = consumer.isCancelledFollower
            pass()
            consumer.state = .settled
            endRequests(in: consumer)
            target.following.removeAll { $0 === consumer }
            guard target.isSource else { return false }
            let isAnswer =
                wasCancelled || target.isInCanceller && target.activeThread == currentThread()
            // A completion by another thread comes too late from here on.
            target.isTaken = true
            pass()
            complete(target, outcome, scopes, from: upstream, isAnswer: isAnswer, in: loop)
            return true
        }
    }

    private func submit(_ work: Work, in loop: DrainLoop) {
        // Submitted, it receives the error of the cancel that has detached it; others meanwhile have nothing to add.
        var work = work
        if work.callback.dispatcher != nil {
            if !work.outcome.isCancelled { noteAnswer(at: work.node) }
            pass()
        }
        if work.callback.dispatcher != nil, !work.node.requests.isEmpty {
            endRequests(in: work.node)
            work.outcome = .failure(.cancelled)
        }
        switch work.callback.dispatcher {
        case nil, .inline:
            if isRecorded { pass() }
            let answer = call(work)
            pass()
            conclude(work, answer, in: loop)
        case .dropping:
            // Not reported unless something waits for it (U1).
            work.node.isHandled = true
            reportLost(work)
            pass()
            releaseCallback(of: work.node)
            fail(work.node, work.outcome.isCancelled ? .cancelled : .abandoned, in: loop)
        case .released:
            work.node.state = .dispatched
            work.node.cancelIsPending = work.outcome.isCancelled
            releasedWorks.append(work)
            // The link retains the dispatcher until its work is submitted.
            dispatcherReferences += 1
            pass()
            releaseDispatcher(after: work, in: loop)
        case .manual:
            work.node.state = .dispatched
            work.node.cancelIsPending = work.outcome.isCancelled
            work.node.isSubmitting = true
            works.append(work)
            pass()
            work.node.isSubmitting = false
            if work.node.isDropped {
                drop(work, in: loop)
                releaseCallback(of: work.node)
            }
        }
    }

    func runWork() -> Bool {
        guard !works.isEmpty else { return false }
        var work = works.removeFirst()
        pass()
        if work.node.cancelIsPending {
            work.node.cancelIsPending = false
            work.outcome = .failure(.cancelled)
            leaveOpen(work.upstream)
        }
        begin(work.node)
        if isRecorded { pass() }
        let answer = call(work)
        pass()
        inDrainLoop { conclude(work, answer, in: $0) }
        return true
    }

    func dropWork() -> Bool {
        guard !works.isEmpty else { return false }
        let work = works.removeFirst()
        pass()
        if work.node.isSubmitting, choose(2) == 1 {
            work.node.isDropped = true
        } else {
            inDrainLoop { drop(work, in: $0) }
            releaseCallback(of: work.node)
        }
        return true
    }

    func dropDispatcher() {
        guard isDispatcherRetained else { return }
        isDispatcherRetained = false
        releaseDispatcher()
    }

    /// F4: released with its work, a dispatcher releases that.
    ///
    /// - Parameter submitted: The work whose submission ends: what follows from its release comes after the other
    ///   callbacks of the same Deferred.
    private func releaseDispatcher(after submitted: Work? = nil, in loop: DrainLoop? = nil) {
        dispatcherReferences -= 1
        let isNeeded = nodes.contains {
            if case .callback(let callback, _) = $0.work { callback.dispatcher == .released } else { false }
        }
        guard dispatcherReferences == 0, !isNeeded else { return }
        while !releasedWorks.isEmpty {
            let work = releasedWorks.removeFirst()
            pass()
            if let loop, work.node === submitted?.node {
                drop(work, in: loop)
            } else {
                inDrainLoop { drop(work, in: $0) }
            }
            releaseCallback(of: work.node)
        }
    }

    private func drop(_ work: Work, in loop: DrainLoop) {
        let isCancelled = work.node.cancelIsPending || work.outcome.isCancelled
        work.node.isHandled = true
        begin(work.node)
        if !isCancelled { reportLost(work) }
        // A cancel that comes now counts (C5), though the failure has been reported.
        pass()
        fail(work.node, isCancelled ? .cancelled : .abandoned, in: loop)
    }

    /// Nothing will handle the failure that is released with the work (U1).
    private func reportLost(_ work: Work) {
        guard case .failure(let fault) = work.outcome, ![.cancelled, .abandoned].contains(fault),
            !work.upstream.wasCancelled
        else { return }
        reports.append(.unhandled(fault, made: work.node.made))
    }

    private func call(_ work: Work) -> CallbackAnswer<Handle> {
        let answer: CallbackAnswer<Handle> =
            switch (work.callback.form, work.outcome) {
            case (.then, .value), (.fail, .failure), (.trap, .failure(.test)), (.both, _), (.pair, _):
                work.body(work.outcome)
            case (.then, .failure), (.fail, .value), (.trap, _): .unchanged
            }
        releaseCallback(of: work.node)
        return answer
    }

    /// Releases a callback that has run, or never will, with its captures; at the end of the call that
    /// attaches it, if that has not returned.
    func releaseCallback(of node: Node) {
        guard !node.isAttaching else {
            node.isReleased = true
            return
        }
        node.atEnd.take()?()
    }

    private func conclude(_ work: Work, _ answer: CallbackAnswer<Handle>, in loop: DrainLoop) {
        switch answer {
        case .outcome(let outcome): conclude(work.node, with: outcome, in: loop)
        case .unchanged: conclude(work.node, with: work.outcome, from: work.upstream, in: loop)
        case .handle(let handle): wait(work.node, for: handle.node, in: loop)
        }
    }

    private func conclude(
        _ node: Node, with outcome: ModelOutcome, from upstream: Node? = nil, in loop: DrainLoop
    ) {
        noteCancelled(node)
        settle(node, outcome, [], from: upstream, in: loop)
        repeatRequests(in: node, loop)
    }

    /// A failure of work that was cancelled while it ran is not reported (U1).
    private func noteCancelled(_ node: Node) {
        if !node.requests.isEmpty { node.wasCancelled = true }
    }

    /// L4, L5.
    private func wait(_ node: Node, for inner: Node, in loop: DrainLoop) {
        if inner === node || reaches(inner, node) {
            return failAsCycle(node, in: loop)
        }
        if let outcome = inner.outcome, !inner.isDraining || mayBeIdle(inner), inner.pauses == 0 {
            // The callback's result counts, though it was cancelled while it ran.
            noteCancelled(node)
            node.openCancels = 0
            node.requests.removeAll { $0 === node }
            inner.isHandled = true
            return conclude(node, with: outcome, from: inner, in: loop)
        }
        noteAnswer(at: node)
        node.state = .waiting(for: inner)
        node.work = .adopt
        // Another thread may settle the one or cancel the other before the one waits for the other.
        pass()
        guard node.waits(for: inner) else { return }
        if let outcome = inner.outcome, !inner.isDraining, inner.pauses == 0 {
            // What is attached to it meanwhile, this thread notifies (F3).
            beginDraining(inner)
            inner.drainingHasBegun = true
            pass()
            if node.waits(for: inner) {
                let isCancelled = node.cancelIsPending || node.isCancelRequested
                node.cancelIsPending = false
                node.openCancels = 0
                inner.isHandled = true
                _ = deliver(node, isCancelled ? .failure(.cancelled) : outcome, from: inner, in: loop)
            }
            drain(inner, in: loop)
        } else {
            inner.attached.append(node)
        }
        repeatRequests(in: node, loop)
    }

    /// Returns whether `node` waits for `target`, directly or indirectly.
    func reaches(_ node: Node, _ target: Node) -> Bool {
        let next: [Node]
        switch node.state {
        case .waiting(let upstream): next = upstream.outcome == nil ? [upstream] : []
        case .source: next = node.following + (node.list?.observers ?? [])
        case .detached, .dispatched, .running, .settled: next = []
        }
        return next.contains { $0 === target || reaches($0, target) }
    }
}
