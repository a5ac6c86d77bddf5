/// The way of an outcome: a source is completed, the outcome is delivered to a consumer, whose step runs, and the
/// result of the step settles that. `DrainLoop.drain` takes the consumers one by one.

/// What delivering leads to, on the floors above.
protocol DeliveryRoutes: ~Copyable {
    /// Makes a running link wait for what its step has returned (L4).
    mutating func wait(_ link: consuming Link, for inner: Link)
    /// Has a dispatcher run a step.
    mutating func submit(
        _ step: consuming Payload, of link: consuming Link, with outcome: consuming Payload)
    /// Completes a source with the outcome of what it follows.
    mutating func forward(
        _ outcome: consuming Payload, to source: consuming Link, through follower: Link
    ) -> Bool
    /// Detaches the links by which a source, now settled, followed others.
    mutating func stopFollowing(_ followers: [Link], as state: LinkState, isCancelled: Bool)
}

extension DrainLoop: DeliveryRoutes {}

// MARK: - Delivering

/// Delivering an outcome to one consumer: running its step, or doing what else it has to.
extension DrainLoop {
    /// Notifies one consumer. Returns true if a failure belongs to it from now on: it took the outcome, or
    /// would have, had it not been cancelled (U1).
    @inline(__always)
    mutating func deliver(_ outcome: borrowing Payload, to taken: Unmanaged<Link>) -> Bool {
        // Sound: the list's reference, which this thread owns. It is forwarded and never copied, since a link
        // with no other reference may be bypassed (L6).
        let consumer = taken.takeRetainedValue()
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

    /// Does with the outcome that a link waited for what the link has to. It is locked, and `running` on this
    /// thread; unlocks it.
    @inline(__always)
    mutating func perform(
        _ link: consuming Link, _ word: UInt, with outcome: borrowing Payload
    ) -> Bool {
        switch link.payload.kind {
        case .step where !Recording.isOn:
            let step = link.exchangePayload(with: .none)
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
        _ outcome: borrowing Payload, by link: consuming Link, _ word: UInt
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
        return step.takeReference(as: LoopList.self).receive(at: index, by: link, in: &self)
    }

    /// As `perform`, for the kinds that few links have. Not inlined, so that the drain loop itself stays
    /// small.
    @inline(never)
    private mutating func performOther(
        _ link: consuming Link, _ word: UInt, with outcome: borrowing Payload
    ) -> Bool {
        let payload = link.exchangePayload(with: .none)
        link.unlock(word)
        switch payload.kind {
        case .step:
            let result = Recording.run(payload, of: link, outcome)
            conclude(consume link, result)
            return true
        case .dispatchedStep:
            submit(payload, of: consume link, with: outcome.copy())
            return true
        case .forward:
            return forward(outcome.copy(), to: payload.takeReference(as: Link.self), through: link)
        case .hook:
            payload.content(as: Payload.Hook.self).run(&self, link)
            // The failure that an observer receives is not its own (U1).
            let result = link.onlyObserves ? .none : outcome.copy()
            conclude(consume link, result)
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
        _ = perform(consume link, word, with: .failure(CancellationError()))
    }
}

// MARK: - Settling

/// Settling a link: storing its outcome, and enqueuing the notification of its consumers.
extension DrainLoop {
    /// Continues a running link with the result of its step.
    @inline(__always)
    mutating func conclude(_ link: consuming Link, _ result: consuming Payload) {
        if result.kind == .wait {
            wait(link, for: result.takeReference(as: Link.self))
        } else {
            let word = link.lock()
            finish(link, word, result)
        }
    }

    /// Completes a source on behalf of the engine, unless it was settled before.
    mutating func settle(source: Link, _ outcome: consuming Payload) {
        let word = source.lock()
        guard source.phase == .source else { return source.unlock(word) }
        finish(source, word, outcome)
    }

    /// Fails a running link or a source, or with the cancel that it received before (C5).
    mutating func settle(_ link: Link, failingWith error: DeferredError) {
        let word = link.lock()
        guard link.phase != .settled else { return link.unlock(word) }
        finish(link, word, link.failure(error), isAnswered: true)
    }

    /// Stores the outcome of a locked link, unlocks it and enqueues the notification of its consumers.
    ///
    /// - Parameter isAnswered: Whether the outcome comes of the cancels left in the link, which then end
    ///   (C1).
    @inline(__always)
    mutating func finish(
        _ link: consuming Link, _ word: UInt, _ outcome: consuming Payload, isAnswered: Bool = false
    ) {
        if !link.hasOnlyConsumers { return finishWithColdState(link, word, outcome, isAnswered) }
        let consumers = link.storeOutcome(word, outcome, on: thread)
        if !consumers.isEmpty { enqueueDrain(link, consumers, scope) }
    }
}

extension Payload {
    /// What a link of the library's own does with the drain loop that notifies it: what follows is enqueued
    /// there, and not run by a loop within that one (F6).
    struct Hook {
        let run: @Sendable (_ loop: inout DrainLoop, _ link: Link) -> Void
    }

    static func hook(_ run: @escaping @Sendable (inout DrainLoop, Link) -> Void) -> Payload {
        Payload(.hook, bits(with: Hook(run: run), as: Hook.self))
    }
}
