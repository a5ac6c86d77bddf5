import Deferred

extension ManualClock: Clock {
    /// A time on a ``ManualClock``.
    public struct Instant: InstantProtocol {
        /// How long after the clock's beginning.
        public let offset: Duration

        /// The time `offset` after the clock's beginning.
        public init(offset: Duration) { self.offset = offset }

        /// The time `duration` later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

        /// How long from here to `other`.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Whether `a` is earlier.
        public static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
    }

    /// The time that the clock shows.
    public var now: Instant { Instant(offset: schedule.withLock { $0.now }) }

    /// None: every duration can be told apart.
    public var minimumResolution: Duration { .zero }

    /// Sleeps until ``advance(by:)`` has reached `deadline`, or the Task is cancelled: then it throws
    /// `CancellationError` at once.
    ///
    /// `advance` wakes the Task; when it goes on is its executor's business.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let sleeper = Sleeper()
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                guard sleeper.start(continuation) else { return }
                let isDue = schedule.withLock { $0.now >= deadline.offset }
                if isDue { return sleeper.wake() }
                sleeper.note(add(.sleep(sleeper), due: deadline.offset), on: self)
            }
        } onCancel: {
            sleeper.cancel(on: self)
        }
    }
}

/// A Task that sleeps: whoever comes first, the time or the Task's cancel, wakes it.
final class Sleeper: Sendable {
    private struct State {
        var continuation: UnsafeContinuation<Void, any Error>?
        var ticket: Schedule.Ticket?
        var isCancelled = false
    }

    private let state = Guarded(State())

    /// False if the Task was cancelled before; then it is awake again.
    func start(_ continuation: UnsafeContinuation<Void, any Error>) -> Bool {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.continuation = continuation }
            return state.isCancelled
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
        return !isCancelled
    }

    func note(_ ticket: Schedule.Ticket, on clock: ManualClock) {
        let isCancelled = state.withLock { state in
            state.ticket = ticket
            return state.isCancelled
        }
        if isCancelled { _ = clock.remove(ticket) }
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
