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
        let sleeper = Sleeper()
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                guard sleeper.start(continuation) else { return }
                let ticket = add(.sleep(sleeper)) { now in now < deadline.offset ? deadline.offset : nil }
                // The deadline has passed, or a cancel has resumed the Task.
                if ticket == nil { sleeper.wake() }
            }
        } onCancel: {
            sleeper.cancel(on: self)
        }
    }
}

/// A sleeping Task, resumed once: by the time or by the Task's cancellation.
final class Sleeper: Sendable {
    private struct State {
        var continuation: UnsafeContinuation<Void, any Error>?
        var ticket: Schedule.Ticket?
        var isCancelled = false
    }

    private let state = SpinLocked(State())

    /// Starts the sleep. Returns false if the Task was cancelled before, and resumes it.
    func start(_ continuation: UnsafeContinuation<Void, any Error>) -> Bool {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.continuation = continuation }
            return state.isCancelled
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
        return !isCancelled
    }

    /// Stores the ticket of the scheduled sleep, for a cancel to remove. Returns false if the Task was cancelled
    /// before: the sleep must then not be scheduled. Under the schedule's lock.
    func note(_ ticket: Schedule.Ticket) -> Bool {
        state.withLock { state in
            if !state.isCancelled { state.ticket = ticket }
            return !state.isCancelled
        }
    }

    func wake() {
        state.withLock { $0.continuation.take() }?.resume()
    }

    func cancel(on clock: ManualClock) {
        let (continuation, ticket) = state.withLock { state in
            state.isCancelled = true
            return (state.continuation.take(), state.ticket)
        }
        if let ticket { _ = clock.remove(ticket) }
        continuation?.resume(throwing: CancellationError())
    }
}
