/// A Swift `Clock` as a ``DelayedDispatcher``.
///
/// ```swift
/// let answer = request.timeout(.seconds(5), on: .clock(.continuous))
/// ```
///
/// Work runs in a Task of its own, on the global executor, and what is delayed sleeps there: a pending delay
/// costs some memory and no thread. If the clock's sleep throws of its own accord, the work is let go unrun,
/// and a Deferred that waits for it fails with ``DeferredError/abandoned``.
public struct ClockDispatcher<Base: Clock>: DelayedDispatcher where Base.Duration == Duration {
    private let clock: Base
    private let priority: TaskPriority?
    private let start: Base.Instant

    /// A dispatcher that keeps the time of `clock`.
    ///
    /// - Parameter priority: That of the Tasks; the priority of whoever dispatches if left out.
    public init(_ clock: Base, priority: TaskPriority? = nil) {
        self.clock = clock
        self.priority = priority
        start = clock.now
    }

    /// Runs `work` in a Task.
    public func dispatch(_ work: @escaping @Sendable () -> Void) {
        Task(priority: priority) { work() }
    }

    /// Runs `work` in a Task that has slept for `delay`.
    ///
    /// Cancelled, it lets go of the work and ends the Task at once. What Swift's own sleep leaves behind
    /// until the time comes, some 700 bytes, is not in its hands; a `DispatchQueue` leaves nothing. A delay of
    /// more than a hundred years counts as that: the standard clocks stop the program at what is too long for
    /// them.
    public func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
        let deadline = clock.now.advanced(by: min(max(delay, .zero), Self.longestDelay))
        let sleeping = SleepingWork(work)
        sleeping.start(
            Task(priority: priority) { [clock] in
                do { try await clock.sleep(until: deadline, tolerance: nil) } catch {
                    return sleeping.cancel()
                }
                sleeping.run()
            })
        return sleeping
    }

    private static var longestDelay: Duration { .seconds(100 * 366 * 86_400) }

    /// The time on the clock, since this dispatcher was made.
    public var elapsed: Duration { start.duration(to: clock.now) }
}

/// Lets go of the work as soon as it is cancelled, however long the clock takes to wake the Task.
private final class SleepingWork: DelayedWork {
    private let state: Guarded<(work: (@Sendable () -> Void)?, task: Task<Void, Never>?)>

    init(_ work: @escaping @Sendable () -> Void) { state = Guarded((work, nil)) }

    func start(_ task: Task<Void, Never>) {
        state.withLock { $0.task = task }
    }

    func run() {
        let work = state.withLock { $0.work.take() }
        work?()
    }

    func cancel() {
        let (work, task) = state.withLock { ($0.work.take(), $0.task.take()) }
        task?.cancel()
        _ = consume work
    }
}

extension Dispatcher {
    /// A Swift `Clock` as a dispatcher; see ``ClockDispatcher``.
    public static func clock<Base: Clock>(_ clock: Base) -> Self where Self == ClockDispatcher<Base> {
        ClockDispatcher(clock)
    }
}
