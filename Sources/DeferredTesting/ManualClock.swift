import Deferred

/// A clock that stands still until a test advances it.
///
/// It is a `DelayedDispatcher`, for everything in `Deferred` that takes time, and a Swift `Clock`, for code
/// that sleeps.
///
/// ```swift
/// let clock = ManualClock()
/// let answer = request.timeout(.seconds(5), timer: clock)
/// clock.advance(by: .seconds(5))
/// #expect(try failureResult(of: answer) as? DeferredError == .timedOut)
/// ```
///
/// ``advance(by:)`` runs the work that falls due, on the calling thread, in the order of the due times; work that is
/// due at the same time, in the order in which it was scheduled. All of it has run when `advance` returns, so that
/// nothing in a test has to wait. Safe from any thread.
///
/// Of the work that is scheduled at the moment when it is due, 100,000 pieces run at that moment; the rest stays
/// scheduled for the next call. So work without a delay that schedules itself again, as `repeating(every: .zero)` does,
/// is no endless loop.
///
/// When the clock is released, its work is released without running, as with any dispatcher: a Deferred that waits
/// for it, also one of `retry` or `repeating`, fails with `DeferredError.abandoned`.
public final class ManualClock: Sendable {
    let schedule = SpinLocked(Schedule())

    /// Creates a clock whose time is zero.
    public init() {}

    /// Moves the time on by `amount`, and runs the work that falls due, also what that schedules, before it returns.
    ///
    /// While work runs, the clock shows the time at which the work was due. Work may advance the clock itself. Time
    /// never decreases: negative amounts count as zero. Of calls on two threads at once, the later end counts, not the
    /// sum.
    ///
    /// - Parameter amount: How far; zero runs work that was dispatched without a delay.
    /// - Complexity: O(*k* log *n*), where *k* is the number of pieces of work that run and *n* the number of
    ///   those that are scheduled.
    public func advance(by amount: Duration = .zero) {
        runWork(dueBy: schedule.withLock { $0.begin(lasting: amount) })
    }

    /// Advances the time to when the next work is due, and runs all work that is due then, before it returns.
    ///
    /// ```swift
    /// let page = Deferred.retry(attempts: 3, timer: clock) { fetchPage() }
    /// clock.advanceToNext()       // the second attempt, however long the pause before it was
    /// ```
    ///
    /// - Returns: Whether there was any work. Without any, the time stays as it is.
    /// - Complexity: O(*k* log *n*), where *k* is the number of pieces of work that run and *n* the number of
    ///   those that are scheduled.
    @discardableResult
    public func advanceToNext() -> Bool {
        schedule.withLock { _ = $0.begin(lasting: .zero) }
        guard let target = schedule.withLock({ $0.nextDue }) else { return false }
        runWork(dueBy: target)
        return true
    }

    /// Moves the time on from work to work until none is left, also what that schedules, before it returns.
    ///
    /// ```swift
    /// let page = Deferred.retry(attempts: 5, timer: clock) { fetchPage() }
    /// #expect(clock.advanceUntilIdle())
    /// #expect(try failureResult(of: page) is Unavailable)
    /// ```
    ///
    /// - Parameter limit: How far at most. Work that is due later, such as that of `repeating`, which has no end,
    ///   stays scheduled, and the time is then that much later.
    /// - Returns: Whether nothing is left.
    /// - Complexity: O(*k* log *n*), where *k* is the number of pieces of work that run and *n* the number of
    ///   those that are scheduled.
    @discardableResult
    public func advanceUntilIdle(atMost limit: Duration = .seconds(86_400)) -> Bool {
        let end = schedule.withLock { $0.begin(lasting: limit) }
        while let next = schedule.withLock({ $0.nextDue }), next <= end { runWork(dueBy: next) }
        if schedule.withLock({ $0.count == 0 }) { return true }
        runWork(dueBy: end)
        return false
    }

    private func runWork(dueBy target: Duration) {
        while let work = schedule.withLock({ $0.takeDue(by: target) }) { work() }
    }

    /// How long it is until each piece of scheduled work is due, the next first.
    ///
    /// - Complexity: O(*n* log *n*), where *n* is the number of pieces of work that are scheduled.
    public var scheduled: [Duration] {
        schedule.withLock { schedule in schedule.pending.map { $0 - schedule.now } }
    }

    /// Returns a Deferred that is resolved once at least `count` pieces of work, sleeping Tasks included, are
    /// scheduled at the same time; at once if they are.
    ///
    /// For a test of code that uses the clock on another thread: `await clock.whenScheduled().value`, then advance.
    ///
    /// - Complexity: O(log *n*), where *n* is the number of such Deferreds that are pending; a cancel
    ///   likewise.
    public func whenScheduled(_ count: Int = 1) -> Deferred<Void> {
        let ticket = schedule.withLock { $0.reserveWatcher() }
        let (deferred, resolver) = Deferred<Void>.withResolver { [weak self] _ in
            withExtendedLifetime(self?.schedule.withLock { $0.removeWatcher(ticket) }) {}
        }
        change { $0.addWatcher(ticket, count, resolver) }
        return deferred
    }

    /// Schedules work, unless `due` returns nil. The due time is computed in the critical section that adds the work,
    /// so that an advance on another thread comes either before both or after both.
    func add(_ work: @escaping Schedule.Work, due: (_ now: Duration) -> Duration?) -> Schedule.Ticket? {
        change { schedule in due(schedule.now).map { schedule.add(work, due: $0) } }
    }

    /// Changes the schedule or its watchers, and resolves the watchers that are ready, outside the lock.
    private func change<R: Sendable>(_ change: (inout Schedule) -> R) -> R {
        let (result, ready) = schedule.withLock { (change(&$0), $0.takeReadyWatchers()) }
        for watcher in ready where !watcher.isCancelled { watcher.resolve() }
        return result
    }
}

extension ManualClock: OwnedDispatcher, DelayedDispatcher {
    /// Runs `work` at the next ``advance(by:)``, whatever the amount.
    public func dispatch(_ work: @escaping @Sendable () -> Void) {
        _ = dispatch(after: .zero, work)
    }

    /// Runs `work` when ``advance(by:)`` has moved the time on by `delay`.
    ///
    /// - Complexity: O(log *n*), where *n* is the number of pieces of work that are scheduled; a cancel
    ///   likewise.
    public func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
        let work = DeferredTaskLocals.carrying(work)
        return ScheduledWork(clock: WeakReference(self), ticket: add(work) { $0 + max(delay, .zero) })
    }

    /// How far the clock has been advanced.
    public var elapsed: Duration { schedule.withLock { $0.now } }

    /// Retains neither the clock nor the work, which is released with the clock.
    struct ScheduledWork: DelayedWork {
        let clock: WeakReference<ManualClock>
        let ticket: Schedule.Ticket?

        func cancel() {
            guard let ticket, let clock = clock.object else { return }
            withExtendedLifetime(clock.schedule.withLock { $0.remove(ticket) }) {}
        }
    }
}

extension ManualClock: CustomStringConvertible {
    /// The time, and when what is scheduled is due: `ManualClock at 2.0 seconds, 2 scheduled: in 1.0 seconds, in
    /// 3.0 seconds`.
    public var description: String {
        let (now, pending) = schedule.withLock { ($0.now, $0.pending) }
        if pending.isEmpty { return "ManualClock at \(now), nothing scheduled" }
        let listed = pending.prefix(10).map { "in \($0 - now)" }
        let more = pending.count > listed.count ? ", and \(pending.count - listed.count) more" : ""
        return "ManualClock at \(now), \(pending.count) scheduled: \(listed.joined(separator: ", "))\(more)"
    }
}
