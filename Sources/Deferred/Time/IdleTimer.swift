public import Dispatch

/// A timer that expires when it was not reset for a while: a delayed call that can be put off (Twisted's
/// `callLater`, with `reset`).
///
/// ```swift
/// let idle = IdleTimer(after: .seconds(60))
/// connection.onData { _ in idle.reset() }
/// idle.deferred.done { connection.close() }
/// ```
///
/// Its ``deferred`` is resolved on the thread of its `timer`. A reset is cheap: it records the time, and the timer is
/// set anew only when it expires too early. When the last reference to this object is released, the timer can no longer
/// be reset, and expires when it is due. If `timer` releases its work, the Deferred fails with
/// ``DeferredError/abandoned``. Safe from any thread.
public final class IdleTimer: DeferredConvertible {
    /// Resolved when the timer expires. Its cancel stops the timer.
    public let deferred: Deferred<Void>

    private let schedule: RepeatingSchedule

    /// Creates a timer and starts it.
    ///
    /// - Parameters:
    ///   - interval: How long after its start, or after the last ``reset(_:)``, the timer expires. Zero or less is
    ///     as soon as possible.
    ///   - timer: Measures the time.
    public init(
        after interval: Duration, timer: any DelayedDispatcher = DispatchQueue.global(),
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        let schedule = RepeatingSchedule(every: interval, timer)
        self.schedule = schedule
        deferred = AsyncLoop.deferred(fileID, line) { _ in
            schedule.next { _ in .resolved(.end) }
        }
    }

    /// Starts the interval anew. Does nothing once the timer has expired or was cancelled.
    ///
    /// - Parameter newInterval: The interval from now on; the one before if nil. A shorter one takes effect at once.
    public func reset(_ newInterval: Duration? = nil) {
        schedule.reset(every: newInterval)
    }

    /// Stops the timer; its Deferred fails with `CancellationError`.
    public func cancel() { deferred.cancel() }
}
