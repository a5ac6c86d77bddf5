/// How long ``Deferred/retry(attempts:delay:on:when:_:fileID:line:)`` waits before it tries again.
public struct RetryDelay: Sendable {
    let next: @Sendable (_ attempt: Int, _ error: any Error) -> Duration
    /// What is wrong with the numbers it was made of.
    let flaw: String?

    private init(flaw: String? = nil, _ next: @escaping @Sendable (Int, any Error) -> Duration) {
        self.next = next
        self.flaw = flaw
    }

    /// None: as soon as the dispatcher gets to it.
    public static let none = RetryDelay { _, _ in .zero }

    /// The same each time.
    public static func constant(_ delay: Duration) -> RetryDelay {
        RetryDelay(flaw: delay < .zero ? "delay must not be negative, is \(delay)" : nil) { _, _ in delay }
    }

    /// The same each time, in seconds.
    public static func seconds(_ count: Double) -> RetryDelay {
        if count.isFinite { return .constant(Duration(clampedSeconds: count)) }
        return RetryDelay(flaw: "delay must be a number, is \(count)") { _, _ in .zero }
    }

    /// The same each time, in milliseconds.
    public static func milliseconds(_ count: Double) -> RetryDelay { .seconds(count / 1000) }

    /// `first`, then `factor` times as long from one attempt to the next, but never more than `maximum`.
    ///
    /// ```swift
    /// .exponential()                                     // 1 s, 2 s, 4 s, 8 s … 60 s, each less up to a half
    /// .exponential(first: .milliseconds(100), jitter: 0) // 100 ms, 200 ms, 400 ms …
    /// ```
    ///
    /// - Parameters:
    ///   - factor: At least 1.
    ///   - jitter: How much of a delay is left to chance, from 0, none, to 1, all of it: so that many who failed together don't
    ///     come back together. The delay is shortened, never made longer.
    ///   - random: Gives numbers from 0 up to 1, any thread. What is less or more counts as that, and no number as 0.
    public static func exponential(
        first: Duration = .seconds(1), factor: Double = 2, maximum: Duration = .seconds(60),
        jitter: Double = 0.5, random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) -> RetryDelay {
        let flaw: String? =
            if first < .zero || maximum < .zero {
                "delays must not be negative, are \(first) and \(maximum)"
            } else if !(factor >= 1 && factor.isFinite) {
                "factor must be a number from 1 up, is \(factor)"
            } else if !(0...1).contains(jitter) {
                "jitter must be from 0 to 1, is \(jitter)"
            } else {
                nil
            }
        return RetryDelay(flaw: flaw) { attempt, _ in
            let most = maximum / .seconds(1)
            // None grows to none, however often: infinitely many times nothing would be no number.
            let grown = first == .zero ? 0 : min(first / .seconds(1) * power(factor, attempt - 1), most)
            let drawn = random()
            let chance = drawn.isNaN ? 0 : min(max(drawn, 0), 1)
            return Duration(clampedSeconds: grown * (1 - jitter * chance))
        }
    }

    /// As `delay` says, given the number of the attempt that failed, from 1, and its error: a server's
    /// `Retry-After`, say.
    ///
    /// It runs on the thread on which the attempt failed. Less than zero counts as zero.
    public static func custom(
        _ delay: @escaping @Sendable (_ attempt: Int, _ error: any Error) -> Duration
    ) -> RetryDelay {
        RetryDelay(delay)
    }

    private static func power(_ base: Double, _ exponent: Int) -> Double {
        var (result, square, rest) = (1.0, base, exponent)
        while rest > 0 {
            if rest % 2 == 1 { result *= square }
            square *= square
            rest /= 2
        }
        return result
    }
}

extension Duration {
    /// As `.seconds(count)`, which stops the program at what is too long. Not for what is no number.
    fileprivate init(clampedSeconds count: Double) {
        let longest = 9e18
        self = .seconds(min(max(count, -longest), longest))
    }
}
