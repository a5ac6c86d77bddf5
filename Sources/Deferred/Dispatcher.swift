/// Somewhere for work to run: a queue, an event loop, an actor.
///
/// Name one with `on:` and the callback runs there instead of on the thread that fires. A `DispatchQueue` is
/// a dispatcher, and so is anything that can take a closure and run it later:
///
/// ```swift
/// struct EventLoopDispatcher: Dispatcher {
///     let loop: EventLoop
///     func dispatch(_ work: @escaping @Sendable () -> Void) { loop.execute(work) }
/// }
/// ```
///
/// A dispatcher must run what it is given once, sooner or later, on whatever thread it likes. If it lets go
/// of the work without running it, the link whose callback it was fails with ``DeferredError/abandoned``.
public protocol Dispatcher: Sendable {
    /// Runs `work` later (or at once, if that is what this dispatcher does), exactly once.
    func dispatch(_ work: @escaping @Sendable () -> Void)
}

/// A dispatcher that can also run work after a delay.
///
/// Swift's own `Clock` can only sleep asynchronously; this one can be moved by hand in a test
/// (`ManualClock` in `DeferredTesting`).
public protocol DelayedDispatcher: Dispatcher {
    /// Runs `work` once `delay` has passed, unless the work that this gives back is cancelled first.
    ///
    /// A delay of zero or less is as soon as possible, but not before this call returns.
    func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork

    /// The time that this dispatcher's delays go by, since some fixed moment: what repeats keeps in step with
    /// it.
    ///
    /// By default that of a clock that stops while the machine sleeps, as a `DispatchQueue`'s does. A
    /// dispatcher with a time of its own gives that.
    var elapsed: Duration { get }
}

extension DelayedDispatcher {
    /// The time of a clock that stops while the machine sleeps.
    public var elapsed: Duration { machineStart.duration(to: SuspendingClock().now) }
}

private let machineStart = SuspendingClock().now

/// Work that waits for its time; see ``DelayedDispatcher/dispatch(after:_:)``.
public protocol DelayedWork: Sendable {
    /// Gives the work up and lets go of what it holds. Once it has begun, this does nothing. Safe from any
    /// thread.
    func cancel()
}
