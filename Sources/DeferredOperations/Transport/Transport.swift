#if canImport(FoundationNetworking)
internal import Foundation
#else
public import Foundation
#endif

/// Carries requests and their answers: what is behind a ``TransferSession``.
///
/// ``FoundationTransport`` is `URLSession`; ``StubTransport`` answers without a network, for tests. Yours may be
/// another HTTP client. A transport sends what it receives and reports what it hears; everything else is decided by the
/// library, in the same way on each transport: redirects, challenges, limits and time limits, checks of lengths,
/// resuming, and what may be shown of an address.
///
/// ```swift
/// struct Offline: Transport {
///     struct NoTask: TransportTask { func cancel() {} }
///
///     func send(_ request: URLRequest, _ body: TransportBody, for exchange: TransportExchange) -> any TransportTask {
///         exchange.receive(.end(URLError(.notConnectedToInternet)))
///         return NoTask()
///     }
/// }
/// ```
///
/// What a transport does:
///
/// - Sends the request as it is: address, method, all headers. It adds only what HTTP demands of it: `Host`, the
///   framing of the body, and what is about the connection. It follows no redirect, answers no challenge, stores
///   nothing, and has no time limits of its own.
/// - Frames the body once: by ``TransportBody/byteCount``, or in chunks if that is nil. The request has neither a
///   `Content-Length` nor a `Transfer-Encoding` if there is a body.
/// - Reports to the exchange, with one event after another: `head` (after any informational one), `bytes`, `end`; and
///   in between `sent` and `metrics`. An answer of any status is reported so. Where a client reads the body of a
///   redirect or a challenge by itself, it reports `redirect` or `challenge` in place of `head` and `end`.
/// - Delivers the body as HTTP means it: without chunks, and decompressed if it is marked as compressed, unless
///   ``TransportExchange/wantsBodyAsSent``. A coding that is none (`identity`, `aws-chunked`) it leaves alone.
/// - Reads no more from the network while ``TransportExchange/receive(_:)`` has not returned, or while it is paused.
///
/// What a transport does wrong ends the transfer, or is ignored: see the article <doc:Transports>.
public protocol Transport: Sendable {
    /// Whether ``TransportTask/pause()`` has an effect. Where it has none, a transfer that is to pause cancels its
    /// request, and requests the rest later (`Range` with `If-Range`), if the server can continue.
    var canPause: Bool { get }

    /// Whether it leaves a coding on the body where ``TransportExchange/wantsBodyAsSent``. Where it cannot, a transfer
    /// that ``TransferOptions/storesAsSent`` fails when an answer has one.
    var canDeliverAsSent: Bool { get }

    /// Sends a request, and returns at once.
    ///
    /// Called on a serial queue of the session's, as are the methods of the task that it returns: it must neither block
    /// nor wait for another transfer. Events may be reported from any thread, one at a time, also before this returns.
    ///
    /// - Parameters:
    ///   - request: Its address, method and headers. The body is not in it.
    ///   - body: What is sent as the body.
    ///   - exchange: Receives what happens. Release it after the end, or after a cancel; if it is released before,
    ///     the transfer fails with ``DataSourceError/connectionLost(_:reason:)``.
    /// - Returns: A handle of the request, which may have ended by then.
    func send(_ request: URLRequest, _ body: TransportBody, for exchange: TransportExchange)
        -> any TransportTask
}

extension Transport {
    /// False: a request cannot be paused.
    public var canPause: Bool { false }
    /// False: a body that is marked as compressed is decompressed.
    public var canDeliverAsSent: Bool { false }
}

/// Controls a request that a ``Transport`` has sent.
///
/// The methods are called one after another, on a queue of the session's, from which they must return soon. They may be
/// called after the end.
public protocol TransportTask: Sendable {
    /// Stops reading from the network, until ``resume()``; what has been read may still be reported. Only called if
    /// ``Transport/canPause`` is true. Does nothing by default.
    func pause()
    /// Continues after ``pause()``. Does nothing by default.
    func resume()
    /// Ends the request, if it is in progress, and releases the exchange. Events that come later are ignored.
    func cancel()
}

extension TransportTask {
    /// Does nothing.
    public func pause() {}
    /// Does nothing.
    public func resume() {}
}
