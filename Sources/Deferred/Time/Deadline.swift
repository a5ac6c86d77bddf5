public import Dispatch

/// A point in time on a dispatcher's clock, by which several steps have to be done together.
///
/// ```swift
/// let deadline = Deadline(after: .seconds(10))
/// let page = logIn().timeout(until: deadline)
///     .then { fetchPage(of: $0).timeout(until: deadline) }
///     .then { page in Deferred.retry(within: deadline.remaining) { save(page).timeout(until: deadline) } }
/// ```
public struct Deadline: Sendable, CustomStringConvertible {
    /// Keeps the time of the deadline.
    public let dispatcher: any DelayedDispatcher
    private let due: Duration

    /// Creates a deadline `delay` from now.
    ///
    /// - Parameters:
    ///   - delay: How long from now.
    ///   - dispatcher: Keeps the time; time limits with this deadline expire on its thread.
    public init(after delay: Duration, on dispatcher: any DelayedDispatcher = DispatchQueue.global()) {
        self.dispatcher = dispatcher
        due = dispatcher.elapsed + delay
    }

    /// The time that is left; zero once the deadline has passed.
    public var remaining: Duration { max(due - dispatcher.elapsed, .zero) }

    /// Whether the deadline has passed.
    public var hasPassed: Bool { dispatcher.elapsed >= due }

    /// The time that is left, in words: `Deadline in 2.0 seconds`.
    public var description: String {
        hasPassed ? "Deadline that has passed" : "Deadline in \(remaining)"
    }
}
