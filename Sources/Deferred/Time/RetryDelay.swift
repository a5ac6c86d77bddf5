/// How long ``Deferred/retry(attempts:within:delay:timer:when:_:fileID:line:)`` waits before a further attempt.
///
/// Which task-local values closures see: <doc:TaskLocals>.
public struct RetryDelay: Sendable {
    private let next: @Sendable (_ attempt: Int, _ error: any Error) -> Duration
    /// Why the arguments it was created with are invalid; nil if they are valid.
    let invalidReason: String?

    private init(invalidReason: String? = nil, _ next: @escaping @Sendable (Int, any Error) -> Duration) {
        self.next = next
        self.invalidReason = invalidReason
    }

    /// No delay: the next attempt is made as soon as the timer gets to it.
    public static let none = RetryDelay { _, _ in .zero }

    /// Returns a delay that is the same each time.
    public static func constant(_ delay: Duration) -> RetryDelay {
        let invalidReason = delay < .zero ? "delay must not be negative, is \(delay)" : nil
        return RetryDelay(invalidReason: invalidReason) { _, _ in delay }
    }

    /// Returns a delay that is `first` at first, then `factor` times as long from one attempt to the next, but never
    /// more than `maximum`.
    ///
    /// ```swift
    /// .exponential()                                     // 1 s, 2 s, 4 s, 8 s … 60 s, each less up to a half
    /// .exponential(first: .milliseconds(100), jitter: 0) // 100 ms, 200 ms, 400 ms …
    /// ```
    ///
    /// - Parameters:
    ///   - first: The first delay.
    ///   - factor: At least 1.
    ///   - maximum: The longest delay.
    ///   - jitter: Which part of a delay is random, from 0 (none) to 1 (all of it), so that many clients that failed
    ///     together do not retry together. It shortens the delay, and never extends it.
    ///   - random: Returns a number in 0..<1; runs on any thread. Other numbers are clamped to 0...1; NaN counts as 0.
    public static func exponential(
        first: Duration = .seconds(1), factor: Double = 2, maximum: Duration = .seconds(60),
        jitter: Double = 0.5, random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) -> RetryDelay {
        let invalidReason: String? =
            if first < .zero || maximum < .zero {
                "delays must not be negative, are \(first) and \(maximum)"
            } else if !(factor >= 1 && factor.isFinite) {
                "factor must be a number from 1 up, is \(factor)"
            } else if !(0...1).contains(jitter) {
                "jitter must be from 0 to 1, is \(jitter)"
            } else {
                nil
            }
        let random = DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(random) : random
        return RetryDelay(invalidReason: invalidReason) { attempt, _ in
            let most = maximum / .seconds(1)
            // 0 times an infinite power would be NaN.
            let power = first == .zero ? 0 : Platform.power(factor, max(attempt, 1) - 1)
            let grown = min(first / .seconds(1) * power, most)
            let drawn = random()
            let chance = drawn.isNaN ? 0 : min(max(drawn, 0), 1)
            // Clamped: `.seconds(count)` stops the program where that is too long.
            return .seconds(min(max(grown * (1 - jitter * chance), 0), 9e18))
        }
    }

    /// Returns a delay that a closure computes from the number of the attempt that failed, from 1, and its error: for a
    /// server's `Retry-After`, for example.
    ///
    /// The closure runs on the thread on which the attempt failed. Negative delays count as zero.
    public static func custom(
        _ delay: @escaping @Sendable (_ attempt: Int, _ error: any Error) -> Duration
    ) -> RetryDelay {
        RetryDelay(DeferredTaskLocals.areCarried ? DeferredTaskLocals.carrying(delay) : delay)
    }

    /// Returns how long to wait after attempt number `attempt`, counted from 1, failed with `error`.
    ///
    /// For a ``custom(_:)`` delay that is made from another one, or that records the delays of another one:
    ///
    /// ```swift
    /// let delays = RetryDelay.exponential()
    /// let logged = RetryDelay.custom { attempt, error in
    ///     let delay = delays.delay(afterAttempt: attempt, error)
    ///     print("\(error); next attempt in \(delay)")
    ///     return delay
    /// }
    /// ```
    public func delay(afterAttempt attempt: Int, _ error: any Error) -> Duration {
        max(.zero, next(attempt, error))
    }
}
