import Deferred

extension ManualClock: Clock {
    /// A time on a ``ManualClock``.
    public struct Instant: InstantProtocol {
        /// How long after the clock's start.
        public let offset: Duration

        /// Creates the time `offset` after the clock's start.
        public init(offset: Duration) { self.offset = offset }

        /// Returns the time `duration` later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

        /// Returns how long it is from this time to `other`.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Returns whether `a` is earlier than `b`.
        public static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
    }

    /// The time that the clock shows.
    public var now: Instant { Instant(offset: schedule.withLock { $0.now }) }

    /// Zero: the clock distinguishes all durations.
    public var minimumResolution: Duration { .zero }

    /// Sleeps until ``advance(by:)`` has reached `deadline`. Throws `CancellationError` at once when the Task is
    /// cancelled.
    ///
    /// `advance` resumes the Task; when the Task then runs is up to its executor.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try Task.checkCancellation()
        let (wake, resolver) = Deferred<Void>.withResolver()
        guard let ticket = add({ resolver.resolve() }, due: { $0 < deadline.offset ? deadline.offset : nil })
        else { return }
        let work = ScheduledWork(clock: WeakReference(self), ticket: ticket)
        try await wake.finally { _ in work.cancel() }.value
    }
}
