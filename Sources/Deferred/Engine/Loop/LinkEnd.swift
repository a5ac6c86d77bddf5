/// The end of a link that has more than consumers: what is taken out of it, under its lock, and what then follows.
///
/// The order is part of the contract:
///
/// 1. Under the lock, before the outcome is stored: resolvers note who was first (F1, C2). Requests that were answered
///    end (C1). What is to follow is taken out, and nothing of it released.
/// 2. Under the lock: the outcome is stored, as that of cancelled work if it is (U1), and the consumers are taken out.
/// 3. Without the lock from here on. A recording gets the failure in words, which runs a user's code.
/// 4. Those who wait in `wait()`, or for the end itself, are notified, also where a pause suspends the consumers.
/// 5. The scope of the finalizers opens, inside that which the link was retained for (Z1, Z2). What a cancel has ended
///    ahead of the link, further down, holds it.
/// 6. The consumers are enqueued, within that scope. None is notified before this function has returned (F4). Without
///    consumers, amid a cancel, the scope ends after all that is cancelled as one has been reached (C7).
/// 7. What a source followed is detached from it, or cancelled with it (C7).
/// 8. Requests that were not answered begin again, at their roots, before any consumer is notified (C5).
/// 9. What may have a user's `deinit` is released: the canceller, the list, and what completed the link.
struct LinkEnd {
    let cancels: Cancels
    /// What the link was.
    private let state: LinkState
    private let isRecorded: Bool
    private let whenSettled: [@Sendable () -> Void]
    private let finalizers: [FinalizerScope.Entry]
    private let retainedScope: FinalizerScope?
    private let scopeOfFailing: FinalizerScope?
    private let following: [Link]
    private let requests: [CancelRequest]
    private let released: (Link?, (@Sendable (CompletionRight) -> Void)?, SourceList?)

    /// What the outcome makes of the cancels that have come to the link.
    struct Cancels: Equatable {
        enum Requests { case end, beginAgain }
        /// What becomes of the requests that were left in the link.
        let requests: Requests
        /// Whether what a source followed is cancelled with it (C7).
        let includesFollowed: Bool
        /// Whether a failure is that of work that was cancelled, and not reported (U1).
        let isOfCancelledWork: Bool

        /// - Parameters:
        ///   - isAnswered: Whether the outcome is known to come of the requests (C1).
        ///   - isCancellers: Whether it comes from the thread that runs the canceller.
        init(_ state: LinkState, hasRequests: Bool, isAnswered: Bool, isCancellers: Bool) {
            let isCancellersAnswer = state.marks.contains(.cancellerRuns) && isCancellers
            let isAnswered = isAnswered || isCancellersAnswer
            requests = isAnswered ? .end : .beginAgain
            includesFollowed = state.passesCancelOn && !isCancellersAnswer
            let wasCancelledWhileItRan = state.phase == .running && hasRequests && !isAnswered
            isOfCancelledWork = state.marks.contains(.cancelled) || wasCancelledWhileItRan
        }
    }

    /// Step 1, of a link that is locked.
    fileprivate init(
        of link: Link, _ outcome: borrowing Payload, isAnswered: Bool, on thread: UInt
    ) {
        let reference = link.sourceReference?.noteSettled(link, completedAt: link.completionSite)
        let coldState = link.coldState
        state = link.state
        requests = coldState?.requests.takeAll() ?? []
        cancels = Cancels(
            state, hasRequests: !requests.isEmpty, isAnswered: isAnswered,
            isCancellers: coldState?.cancellerThread == thread)
        if cancels.requests == .end { for request in requests { request.end() } }
        isRecorded = Recording.isOn
        if isRecorded { Recording.settled(link, outcome) }
        released = (reference, coldState?.canceller.take(), coldState?.list.take())
        following = coldState?.following.takeAll() ?? []
        finalizers = coldState?.finalizers.takeAll() ?? []
        whenSettled = coldState?.whenSettled.takeAll() ?? []
        retainedScope = coldState?.retainedScope.take()
        scopeOfFailing = coldState?.scopeOfFailing.take()
    }

    /// Step 5, within the scope of the drain loop.
    private func openScope(of link: Link, in current: FinalizerScope?) -> FinalizerScope? {
        let outer = retainedScope.map { FinalizerScope.join($0, current) } ?? current
        if finalizers.isEmpty { return outer }
        return FinalizerScope(finalizers, link.payload.copy(), in: outer.map { [$0] } ?? [])
    }

    /// Steps 3 to 9.
    fileprivate func perform(
        of link: Link, _ consumers: consuming ConsumerQueue, in loop: inout DrainLoop
    ) {
        if isRecorded { Recording.describeFailure(of: link) }
        for body in whenSettled { body() }
        let scope = openScope(of: link, in: loop.scope)
        if let scopeOfFailing, let scope { scopeOfFailing.hold(scope) }
        if !consumers.isEmpty {
            loop.enqueueDrain(link, consumers, scope)
        } else if let scope, !finalizers.isEmpty, loop.cancels.isInProgress {
            loop.cancels.enqueueEnd(of: scope)
        }
        if !following.isEmpty {
            loop.stopFollowing(following, as: state, isCancelled: cancels.includesFollowed)
        }
        if cancels.requests == .beginAgain { loop.begin(requests) }
        withExtendedLifetime((released, scopeOfFailing)) {}
    }
}

extension DrainLoop {
    /// Stores the outcome of a locked link that has more than consumers, unlocks it and does what then follows.
    @inline(never)
    mutating func finishWithColdState(
        _ link: Link, _ word: UInt, _ outcome: consuming Payload, _ isAnswered: Bool
    ) {
        let end = LinkEnd(of: link, outcome, isAnswered: isAnswered, on: thread)
        let outcome = end.cancels.isOfCancelledWork ? outcome.ofCancelledWork() : outcome
        let consumers = link.storeOutcome(word, outcome, on: thread)
        end.perform(of: link, consumers, in: &self)
    }
}
