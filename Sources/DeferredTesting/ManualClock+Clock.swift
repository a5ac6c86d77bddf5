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
        try await Deferred.after(.zero, on: Sleeping(clock: self, deadline: deadline.offset)).value
    }

    /// Runs delayed work at a fixed time; at once if that has passed.
    private struct Sleeping: DelayedDispatcher {
        let clock: ManualClock
        let deadline: Duration

        func dispatch(_ work: @escaping @Sendable () -> Void) { work() }

        func dispatch(after _: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
            let ticket = clock.add(work) { now in now < deadline ? deadline : nil }
            if ticket == nil { work() }
            return ScheduledWork(clock: clock, ticket: ticket)
        }
    }
}
