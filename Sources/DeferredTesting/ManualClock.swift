import Deferred

/// A clock that stands still until a test moves it.
///
/// It is a `DelayedDispatcher`, for everything in `Deferred` that takes time, and a Swift `Clock`, for code
/// that sleeps.
///
/// ```swift
/// let clock = ManualClock()
/// let answer = request.timeout(.seconds(5), on: clock)
/// clock.advance(by: .seconds(5))
/// #expect(try failureResult(of: answer) as? DeferredError == .timedOut)
/// ```
///
/// ``advance(by:)`` runs what falls due on the thread that calls it, in the order of the due times, and what
/// is due at the same time in the order in which it was scheduled. All of it has run when `advance` returns,
/// so that nothing in a test has to wait. Safe from any thread.
///
/// When the clock goes, what was scheduled on it goes unrun, as with any dispatcher: a Deferred that waits
/// for it fails with `DeferredError.abandoned`. (What is scheduled again and again, as by `retry` and
/// `repeating`, holds its clock, and so itself, until it is over: cancel it.)
public final class ManualClock: Sendable {
    let schedule: Guarded<Schedule>

    /// A clock that stands at zero.
    public init() {
        schedule = Guarded(Schedule())
    }

    /// Moves the time on, and runs what falls due, also what that schedules, before it returns.
    ///
    /// While a piece of work runs, the clock shows the time at which it was due. Work may advance the clock
    /// itself. Time never goes back: less than zero counts as zero. What schedules itself again without a
    /// delay, as `repeating(every: .zero)` does, is run until it comes to an end.
    ///
    /// - Parameter amount: How far; zero runs what was dispatched without a delay.
    public func advance(by amount: Duration = .zero) {
        let target = schedule.withLock { $0.now + max(amount, .zero) }
        while let work = schedule.withLock({ $0.takeDue(by: target) }) { work() }
    }

    /// How long it is until each piece of scheduled work is due, the next first.
    public var scheduled: [Duration] {
        schedule.withLock { schedule in schedule.pending.map { $0.due - schedule.now } }
    }

    /// Fires once at least `count` pieces of work, sleeping Tasks among them, are scheduled at the same time;
    /// at once if they are.
    ///
    /// For a test of code that gets to the clock on another thread: `await clock.whenScheduled().value`, then
    /// advance.
    public func whenScheduled(_ count: Int = 1) -> Deferred<Void> {
        let (deferred, resolver) = Deferred<Void>.withResolver()
        let isThere = schedule.withLock { schedule in
            if schedule.count >= count { return true }
            schedule.watchers.append((count, resolver))
            return false
        }
        if isThere { resolver.resolve() }
        return deferred
    }

    func add(_ work: Schedule.Work, due: Duration) -> Schedule.Ticket {
        let (ticket, ready) = schedule.withLock { schedule in
            let ticket = schedule.add(work, due: due)
            return (ticket, schedule.takeReadyWatchers())
        }
        for watcher in ready where !watcher.isCancelled { watcher.resolve() }
        return ticket
    }

    func remove(_ ticket: Schedule.Ticket) -> Schedule.Work? {
        schedule.withLock { $0.remove(ticket) }
    }
}

extension ManualClock: DelayedDispatcher {
    /// Runs `work` at the next ``advance(by:)``, whatever the amount.
    public func dispatch(_ work: @escaping @Sendable () -> Void) {
        _ = dispatch(after: .zero, work)
    }

    /// Runs `work` when ``advance(by:)`` has moved the time on by `delay`.
    public func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
        let due = schedule.withLock { $0.now } + max(delay, .zero)
        return ScheduledWork(clock: self, ticket: add(.dispatched(work), due: due))
    }

    /// How far the clock has been moved.
    public var elapsed: Duration { schedule.withLock { $0.now } }

    /// Holds neither the clock nor the work: that goes when the clock does.
    private final class ScheduledWork: DelayedWork {
        private weak let clock: ManualClock?
        private let ticket: Schedule.Ticket

        init(clock: ManualClock, ticket: Schedule.Ticket) {
            self.clock = clock
            self.ticket = ticket
        }

        func cancel() {
            let work = clock?.remove(ticket)
            _ = consume work
        }
    }
}

extension ManualClock: CustomStringConvertible {
    /// The time, and what is scheduled: `ManualClock at 2.0 seconds, 2 scheduled: work in 1.0 seconds, sleep
    /// in 3.0 seconds`.
    public var description: String {
        let (now, pending) = schedule.withLock { ($0.now, $0.pending) }
        if pending.isEmpty { return "ManualClock at \(now), nothing scheduled" }
        let listed = pending.prefix(10).map { "\($0.name) in \($0.due - now)" }
        let more = pending.count > listed.count ? ", and \(pending.count - listed.count) more" : ""
        return "ManualClock at \(now), \(pending.count) scheduled: \(listed.joined(separator: ", "))\(more)"
    }
}
