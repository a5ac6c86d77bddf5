public import Foundation

/// The body of a request, as a ``Transport`` receives it.
///
/// Sound as `@unchecked Sendable`: the stream has one reader, the transport. The library made it, or opened it before,
/// and looks at it again after the end of the exchange.
public enum TransportBody: @unchecked Sendable {
    /// The request has no body.
    case none
    /// These bytes.
    case data(Data)
    /// What the stream contains, which may have been opened. If a length is known, the stream has exactly so many
    /// bytes, or fails: a request whose stream fails must not be ended in order.
    case stream(InputStream, byteCount: Int64?)

    /// How many bytes the body has: 0 without one, nil if it is not known.
    public var byteCount: Int64? {
        switch self {
        case .none: 0
        case .data(let data): Int64(data.count)
        case .stream(_, let byteCount): byteCount
        }
    }

    /// The body of a request.
    init(of request: URLRequest) {
        if let stream = request.httpBodyStream {
            self = .stream(stream, byteCount: (stream as? BodyStream)?.byteCount)
        } else if let data = request.httpBody {
            self = .data(data)
        } else {
            self = .none
        }
    }
}

/// What a ``Transport`` reports of an exchange.
public enum TransportEvent: Sendable {
    /// The status and the headers of an answer, also of an informational one (1xx), after which another follows.
    case head(HTTPURLResponse)
    /// The next piece of the body; one that is empty is ignored.
    case bytes(Data)
    /// So many bytes of the request's body have been sent, in all.
    case sent(Int64)
    /// What is known of the connection.
    case metrics(TransportMetrics)
    /// A redirect, of which the client does not deliver the body. Ends the exchange.
    case redirect(HTTPURLResponse)
    /// A challenge (401), of which the client does not deliver the rest. Ends the exchange.
    case challenge(HTTPURLResponse)
    /// The exchange has ended: nil after a complete answer.
    ///
    /// An error that is a ``DataSourceError`` becomes that of the transfer. A `URLError` is translated by its code, or
    /// by its text if the code is `unknown`; any other error is ``DataSourceError/connectionLost(_:reason:)``.
    case end((any Error)?)
}

/// What a ``Transport`` knows of the connection of an exchange. Nil is what it does not know.
public struct TransportMetrics: Sendable {
    /// When the connection was made, TLS included, or when a kept one was taken.
    public var connected: ContinuousClock.Instant?
    /// Whether the connection was kept from an earlier request.
    public var isReused: Bool?
    /// The protocol, as ALPN names it: `h2`, `http/1.1`.
    public var protocolName: String?

    /// Creates metrics with these figures.
    public init(
        connected: ContinuousClock.Instant? = nil, isReused: Bool? = nil, protocolName: String? = nil
    ) {
        (self.connected, self.isReused, self.protocolName) = (connected, isReused, protocolName)
    }
}
