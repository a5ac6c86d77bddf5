/// Records when a transfer reached each stage.
public struct TransferMetrics: Sendable {
    /// When the operation was requested.
    public internal(set) var requested: ContinuousClock.Instant?
    /// When the queue started it.
    public internal(set) var started: ContinuousClock.Instant?
    /// When the head of the (last) answer had arrived.
    public internal(set) var responded: ContinuousClock.Instant?
    /// When the first byte of the body had arrived.
    public internal(set) var firstByte: ContinuousClock.Instant?
    /// When it had succeeded or failed.
    public internal(set) var ended: ContinuousClock.Instant?
    /// How many requests were sent: one, and one more for every redirect and every answered challenge.
    public internal(set) var requestCount = 0
    /// How many bytes of the body were received, after decompression; without those that a resumed download had
    /// already.
    public internal(set) var received: Int64 = 0

    /// How long it waited for its queue, from ``requested`` to ``started``.
    public var waitingTime: Duration? { Self.time(from: requested, to: started) }
    /// How long it took after that, from ``started`` to ``ended``.
    public var transferTime: Duration? { Self.time(from: started, to: ended) }

    private static func time(from: ContinuousClock.Instant?, to: ContinuousClock.Instant?) -> Duration? {
        guard let from, let to else { return nil }
        return to - from
    }
}
