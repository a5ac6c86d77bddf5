/// A type that runs the work submitted to it: a queue, an event loop, an actor.
///
/// Name one with `on:`, and the closure runs there instead of on the completing thread. A `DispatchQueue` is
/// a dispatcher, and so is any type that can store a closure and run it later:
///
/// ```swift
/// struct EventLoopDispatcher: Dispatcher {
///     let loop: EventLoop
///     func dispatch(_ work: @escaping @Sendable () -> Void) { loop.execute(work) }
/// }
/// ```
///
/// A dispatcher must run work that is submitted to it once, at any time and on any thread. If it releases the
/// work without running it, the link of that work fails with ``DeferredError/abandoned``.
///
/// Submitted work does not retain its dispatcher: one that is released with work in it is deallocated, and
/// releases that work. A chain retains the dispatchers of its callbacks that are still to be submitted,
/// though. If a later callback, or a finalizer, names the dispatcher that an earlier one waits in, and nothing
/// but that dispatcher would ever run it, the two retain each other: cancel such a chain, or release its work,
/// before you release the dispatcher.
///
/// Which task-local values closures see: <doc:TaskLocals>.
public protocol Dispatcher: Sendable {
    /// Runs `work` exactly once: later, or before this returns.
    func dispatch(_ work: @escaping @Sendable () -> Void)
}

/// A dispatcher that can also run work after a delay: what a parameter `timer:` takes.
///
/// Swift's own `Clock` can only sleep asynchronously. A dispatcher that measures time itself can be advanced
/// explicitly in a test (`ManualClock` in `DeferredTesting`).
public protocol DelayedDispatcher: Dispatcher {
    /// Runs `work` once `delay` has passed, unless the returned ``DelayedWork`` is cancelled first.
    ///
    /// A delay of zero or less means as soon as possible, but not before this call returns.
    func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork

    /// The time that has passed on this dispatcher's clock since some fixed point. Repeated work is due at
    /// whole intervals of it.
    ///
    /// The default is a clock that stops while the machine sleeps, as that of a `DispatchQueue` does. A
    /// dispatcher with a clock of its own returns its time.
    var elapsed: Duration { get }
}

extension DelayedDispatcher {
    /// The time of a clock that stops while the machine sleeps.
    public var elapsed: Duration { machineStart.duration(to: SuspendingClock().now) }
}

private let machineStart = SuspendingClock().now

/// Work that is due later; see ``DelayedDispatcher/dispatch(after:_:)``.
public protocol DelayedWork: Sendable {
    /// Cancels the work and releases its closure. Does nothing once the work has begun. Safe from any thread.
    ///
    /// The chain that waits for the work retains this object. It should therefore not retain a dispatcher
    /// that retains the work.
    func cancel()
}
