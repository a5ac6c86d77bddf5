/// The progress of a transfer.
public struct TransferProgress: Sendable, Hashable {
    /// How many bytes of the body have arrived, including those that a resumed download had already.
    public var received: Int64
    /// How many there will be; nil if the server has not announced it.
    public var expected: Int64?
    /// How many bytes of the request's body have been sent.
    public var sent: Int64

    /// Creates a progress with these figures.
    public init(received: Int64 = 0, expected: Int64? = nil, sent: Int64 = 0) {
        self.received = received
        self.expected = expected
        self.sent = sent
    }

    /// The part that has arrived, from 0 to 1; nil while the whole is unknown.
    public var fraction: Double? {
        expected.map { $0 > 0 ? min(1, Double(received) / Double($0)) : 1 }
    }
}
