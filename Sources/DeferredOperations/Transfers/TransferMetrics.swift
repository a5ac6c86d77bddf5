/// Records when a transfer reached each stage.
///
/// It stores durations: `ContinuousClock.Instant` has no fixed layout, nor has what contains it, and code for
/// that is large and slow.
public struct TransferMetrics: Sendable {
    /// When the operation was requested.
    public var requested: ContinuousClock.Instant? { Self.instant(requestedAt) }
    /// When the queue started it.
    public var started: ContinuousClock.Instant? { Self.instant(startedAt) }
    /// When the head of the (last) answer had arrived.
    public var responded: ContinuousClock.Instant? { Self.instant(respondedAt) }
    /// When the first byte of the body had arrived.
    public var firstByte: ContinuousClock.Instant? { Self.instant(firstByteAt) }
    /// When it had succeeded or failed.
    public var ended: ContinuousClock.Instant? { Self.instant(endedAt) }
    /// How many requests were sent: one, and one more for every redirect and every answered challenge.
    public var requestCount: Int
    /// How many bytes of the body were received, after decompression; without those that a resumed download had
    /// already. Of a failure with a status, also those of the body of that answer that were received.
    public var received: Int64
    /// The status of the answer to the last request; nil while there is none.
    package var status: Int?

    /// When the connection of the (last) request was there; nil if the transport does not know it, as Foundation on
    /// Linux.
    public var connected: ContinuousClock.Instant? { Self.instant(connectedAt) }
    /// Whether that connection was kept from an earlier request; nil if the transport does not know it.
    public var isConnectionReused: Bool?
    /// The protocol of the (last) request, as ALPN names it (`h2`, `http/1.1`); nil if the transport does not know it.
    public var protocolName: String?

    var requestedAt: Duration?
    var connectedAt: Duration?
    var startedAt: Duration?
    var respondedAt: Duration?
    var firstByteAt: Duration?
    var endedAt: Duration?

    private static let origin = ContinuousClock.now

    /// The time since the first use of this in the process.
    static var now: Duration { origin.duration(to: .now) }

    /// Creates metrics with these figures.
    public init(
        requested: ContinuousClock.Instant? = nil, started: ContinuousClock.Instant? = nil,
        responded: ContinuousClock.Instant? = nil, firstByte: ContinuousClock.Instant? = nil,
        ended: ContinuousClock.Instant? = nil, requestCount: Int = 0, received: Int64 = 0
    ) {
        requestedAt = requested.map { Self.origin.duration(to: $0) }
        startedAt = started.map { Self.origin.duration(to: $0) }
        respondedAt = responded.map { Self.origin.duration(to: $0) }
        firstByteAt = firstByte.map { Self.origin.duration(to: $0) }
        endedAt = ended.map { Self.origin.duration(to: $0) }
        self.requestCount = requestCount
        self.received = received
    }

    /// Takes what the transport knows of the connection.
    mutating func add(_ metrics: TransportMetrics) {
        connectedAt = metrics.connected.map { Self.origin.duration(to: $0) } ?? connectedAt
        isConnectionReused = metrics.isReused ?? isConnectionReused
        protocolName = metrics.protocolName ?? protocolName
    }

    /// How long it waited for its queue, from ``requested`` to ``started``.
    public var waitingTime: Duration? { requestedAt.flatMap { from in startedAt.map { $0 - from } } }
    /// How long it took after that, from ``started`` to ``ended``.
    public var transferTime: Duration? { startedAt.flatMap { from in endedAt.map { $0 - from } } }

    private static func instant(_ time: Duration?) -> ContinuousClock.Instant? { time.map { origin + $0 } }
}
