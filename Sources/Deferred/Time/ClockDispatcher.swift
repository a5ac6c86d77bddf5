/// A timer that measures time with a Swift `Clock`.
///
/// ```swift
/// let answer = request.timeout(.seconds(5), timer: .clock(.continuous))
/// ```
///
/// Work runs in a Task of its own, on the global executor. Delayed work sleeps in its Task: a pending delay takes some
/// memory and no thread. If the clock's sleep throws by itself, the work is released without running, and a Deferred
/// that waits for it fails with ``DeferredError/abandoned``.
public struct ClockDispatcher<Base: Clock>: DelayedDispatcher where Base.Duration == Duration {
    private let clock: Base
    private let priority: TaskPriority?
    private let start: Base.Instant

    /// Creates a timer that measures time with `clock`.
    ///
    /// - Parameters:
    ///   - clock: The clock.
    ///   - priority: The priority of the Tasks; that of the code that dispatches if left out.
    public init(_ clock: Base, priority: TaskPriority? = nil) {
        self.clock = clock
        self.priority = priority
        start = clock.now
    }

    /// Runs `work` in a Task.
    public func dispatch(_ work: @escaping @Sendable () -> Void) {
        let work = DeferredTaskLocals.carrying(work)
        Task(priority: priority) { work() }
    }

    /// Runs `work` in a Task, after a sleep of `delay`.
    ///
    /// A cancel releases the work and ends the Task at once. Swift's own sleep keeps some 700 bytes until the time
    /// has come; a timer of a `DispatchQueue` keeps nothing. A delay is clamped to a hundred years: the standard
    /// clocks stop the program at longer ones.
    public func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
        let deadline = clock.now.advanced(by: min(max(delay, .zero), .seconds(100 * 366 * 86_400)))
        let work = OneTimeWork(DeferredTaskLocals.carrying(work))
        let task = Task(priority: priority) { [clock] in
            do { try await clock.sleep(until: deadline, tolerance: nil) } catch { return work.cancel() }
            work.run()
        }
        return SleepingWork(work: work, task: task)
    }

    /// The time on the clock since this dispatcher was created.
    public var elapsed: Duration { start.duration(to: clock.now) }
}

/// Releases its work as soon as it is cancelled, however long the clock takes to wake the Task.
private struct SleepingWork: DelayedWork {
    let work: OneTimeWork
    let task: Task<Void, Never>

    func cancel() {
        work.cancel()
        task.cancel()
    }
}

extension Dispatcher {
    /// Returns a timer that measures time with a Swift `Clock`; see ``ClockDispatcher``.
    public static func clock<Base: Clock>(_ clock: Base) -> Self where Self == ClockDispatcher<Base> {
        ClockDispatcher(clock)
    }
}
