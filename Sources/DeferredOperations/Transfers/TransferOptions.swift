public import Deferred
public import Foundation

/// Configures a transfer, beyond what its `URLRequest` does: limits, closures, the body to send.
///
/// Which task-local values closures see is in the article `TaskLocals` of the module `Deferred`.
public struct TransferOptions: Sendable {
    /// The statuses that count as success; 200..<300 by default. Any other is ``DataSourceError/status(_:)``.
    /// A redirect whose status is accepted is not followed.
    public var acceptedStatuses: Set<Int>

    /// The largest body that is accepted, in bytes after decompression; nil for no limit. A body that is announced as
    /// larger, or is larger, is ``DataSourceError/tooLarge(_:limit:)``, and the rest of it is not read.
    public var maximumByteCount: Int64?

    /// Delivers the body as it was sent, also if it is marked as compressed (`Content-Encoding`): a tarball that a
    /// server marks as `x-gzip` stays one. Lengths and ranges are then those of the bytes that arrive.
    ///
    /// For a transport that can (``Transport/canDeliverAsSent``), which ``FoundationTransport`` cannot: there, an
    /// answer with a coding is ``DataSourceError/invalidRequest(_:reason:)`` before any of its body is delivered, so that
    /// nothing is stored in another form than it was sent. A coding that is none (`identity`, `none`, `aws-chunked`,
    /// `utf-8`) counts as none with or without this.
    public var storesAsSent: Bool

    /// How much of the body of an answer whose status is not accepted is kept in the error, in bytes.
    public var errorByteCount: Int

    /// The longest time in which nothing arrives: after it, a transfer fails with
    /// ``DataSourceError/timedOut(_:_:)``, at the latest an eighth of that time later. Nil is the request's
    /// `timeoutInterval`, which is 60 s unless it was set.
    ///
    /// The headers of an answer count when they are complete: a server that sends them slowly is silent until then.
    public var silenceTimeout: Duration?

    /// How long a transfer may take as a whole, from the start of its operation; nil for no limit.
    public var totalTimeout: Duration?

    /// Measures the time of the two limits. The work that it runs is short.
    public var timer: any DelayedDispatcher

    /// How many redirects are followed.
    ///
    /// Credentials in the request's headers (`Authorization`, `Cookie`) are not sent to another host, port or scheme. A
    /// `POST` becomes a `GET` after 301, 302 and 303; after 307 and 308 the method and the body are sent again.
    public var maximumRedirectCount: Int

    /// A file to send as the body, in place of the request's own.
    public var uploadFile: URL?

    /// A form to send as the body (`multipart/form-data`), in place of the request's own. Its `Content-Type` replaces
    /// the request's.
    public var uploadForm: MultipartForm?

    /// Makes the stream that is sent as the body, in place of the request's own: once for each request that is
    /// sent, so that a redirect (307, 308) or a challenge can have the body sent again. What it throws is the
    /// failure. Runs on a queue of the transfer's own.
    ///
    /// A stream that was put into the request itself (`httpBodyStream`) can be sent once; where it would have to be
    /// sent again, the transfer fails with ``DataSourceError/cannotResendBody(_:)``.
    ///
    /// ```swift
    /// options.makeBodyStream = { InputStream(url: file)! }
    /// ```
    public var makeBodyStream: (@Sendable () throws -> InputStream)?

    /// How many bytes the stream has, that of ``makeBodyStream`` or the request's own: they are sent with a
    /// `Content-Length`. Nil if that is not known: they are sent in chunks, unless the request has a `Content-Length`.
    ///
    /// A stream that has fewer bytes, or more, is ``DataSourceError/invalidRequest(_:reason:)``; the request has not
    /// been sent to its end then. So is a number that contradicts the request's `Content-Length`, or the length of
    /// any other body.
    ///
    /// ```swift
    /// (options.makeBodyStream, options.bodyByteCount) = ({ InputStream(data: data) }, Int64(data.count))
    /// ```
    public var bodyByteCount: Int64?

    /// Requests the body only if it has changed since that date (`If-Modified-Since`). If it has not, the status is 304
    /// and the transfer succeeds without a body.
    public var ifModifiedSince: Date?

    /// Requests the body only if its entity tag is another (`If-None-Match`); otherwise as ``ifModifiedSince``.
    public var ifNoneMatch: String?

    /// Called with the progress when that has changed, at most 50 times a second, and not before the last
    /// call has returned. The last call before a success has the final figures. After a failure or a cancel,
    /// a call that has begun may still be running. Runs on a queue of the transfer's own.
    public var onProgress: (@Sendable (TransferProgress) -> Void)?

    /// Called when the server answers 401, for a request with credentials; with nil in the Deferred, the 401
    /// is the answer. Runs on a queue of the transfer's own, at most three times for one request. While its
    /// Deferred is pending, ``silenceTimeout`` does not count, and ``totalTimeout`` does. A request for
    /// anything but `http` or `https` is ``DataSourceError/invalidRequest(_:reason:)``. When the transfer
    /// ends, the Deferred is cancelled, unless it has other consumers.
    ///
    /// ```swift
    /// options.onChallenge = { challenge in
    ///     .resolved(challenge.attempt == 1 ? challenge.answered(user: "me", password: "secret") : nil)
    /// }
    /// ```
    public var onChallenge: (@Sendable (AuthenticationChallenge) throws -> Deferred<URLRequest?>)?

    /// Decides about each redirect: whether it is followed, and with which request. Without it, all are, up to
    /// ``maximumRedirectCount``. Runs on a queue of the transfer's own; the time limits apply to the answer.
    /// When the transfer ends, the Deferred is cancelled, unless it has other consumers: return a new one each time, or
    /// one that is `shielded()`.
    ///
    /// ```swift
    /// options.onRedirect = { redirect in
    ///     let url = redirect.next.url
    ///     return .resolved(url?.host == "example.org" && url?.port == nil ? .follow : .stop)
    /// }
    /// ```
    public var onRedirect: (@Sendable (TransferRedirect) throws -> Deferred<TransferRedirect.Decision>)?

    /// Validates the head of an answer whose status is accepted, such as its content type, before the body has
    /// come: what it throws is the failure, and the rest of the body is not read. Runs on a queue of the
    /// transfer's own; the transfer does not succeed before it has returned. What arrives of the body meanwhile is kept
    /// apart, from 1 MiB on in a temporary file: a refused answer changes no part file.
    ///
    /// ```swift
    /// options.validateResponse = { response in
    ///     guard response.mimeType == "application/zip" else { throw NotAnArchive() }
    /// }
    /// ```
    ///
    /// To validate a body, attach a `map` that throws to the request's Deferred; for a download, before the file is
    /// moved into place, use its `verify`.
    public var validateResponse: (@Sendable (HTTPURLResponse) throws -> Void)?

    @usableFromInline static let successes = Set(200..<300)

    /// Creates options with these values.
    public init(
        acceptedStatuses: Set<Int> = successes,
        maximumByteCount: Int64? = nil,
        storesAsSent: Bool = false,
        errorByteCount: Int = 4096,
        silenceTimeout: Duration? = nil,
        totalTimeout: Duration? = nil,
        timer: any DelayedDispatcher = DispatchQueue.global(qos: .utility),
        maximumRedirectCount: Int = 20,
        uploadFile: URL? = nil,
        uploadForm: MultipartForm? = nil,
        makeBodyStream: (@Sendable () throws -> InputStream)? = nil,
        bodyByteCount: Int64? = nil,
        ifModifiedSince: Date? = nil,
        ifNoneMatch: String? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil,
        onChallenge: (@Sendable (AuthenticationChallenge) throws -> Deferred<URLRequest?>)? = nil,
        onRedirect: (@Sendable (TransferRedirect) throws -> Deferred<TransferRedirect.Decision>)? = nil,
        validateResponse: (@Sendable (HTTPURLResponse) throws -> Void)? = nil
    ) {
        self.acceptedStatuses = acceptedStatuses
        self.maximumByteCount = maximumByteCount
        self.storesAsSent = storesAsSent
        self.errorByteCount = errorByteCount
        self.silenceTimeout = silenceTimeout
        self.totalTimeout = totalTimeout
        self.timer = timer
        self.maximumRedirectCount = maximumRedirectCount
        self.uploadFile = uploadFile
        self.uploadForm = uploadForm
        self.makeBodyStream = makeBodyStream
        self.bodyByteCount = bodyByteCount
        self.ifModifiedSince = ifModifiedSince
        self.ifNoneMatch = ifNoneMatch
        self.onProgress = onProgress
        self.onChallenge = onChallenge
        self.onRedirect = onRedirect
        self.validateResponse = validateResponse
    }
}

extension TransferOptions {
    /// Has `body` called with the progress on the main actor, in place of ``onProgress``. Where several
    /// reports have come before it can run, it is called once, with the last of them; so after a success with
    /// the final figures. After a failure or a cancel, one call may follow.
    ///
    /// ```swift
    /// options.reportProgress(on: MainActor.self) { progress in bar.fraction = progress.fraction }
    /// ```
    public mutating func reportProgress(
        on _: MainActor.Type, _ body: @escaping @MainActor @Sendable (TransferProgress) -> Void
    ) {
        let latest = Locked<TransferProgress?>(nil)
        onProgress = { progress in
            let isSubmitted = latest.withLock { latest in
                defer { latest = progress }
                return latest != nil
            }
            if isSubmitted { return }
            MainActorDispatcher().dispatch {
                guard let progress = latest.withLock({ $0.take() }) else { return }
                MainActor.assumeIsolated { body(progress) }
            }
        }
    }
}

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

/// A server's request for credentials (401).
public struct AuthenticationChallenge: Sendable, CustomStringConvertible {
    /// The request that was refused.
    public let request: URLRequest
    /// The answer: status 401, with `WWW-Authenticate` among its headers.
    public let response: HTTPURLResponse
    /// 1 for the first challenge, 2 if the request with credentials was refused, and so on. What the library
    /// requests of its own accord (the rest of a body, a mirror) counts anew.
    public let attempt: Int

    /// Creates a challenge, for a test of a closure that answers it.
    public init(request: URLRequest, response: HTTPURLResponse, attempt: Int = 1) {
        self.request = request
        self.response = response
        self.attempt = attempt
    }

    /// The status, the address without user and password, and the number of the attempt.
    public var description: String { "\(response.statusCode): \(request.errorURL), attempt \(attempt)" }

    /// Returns the request with a name and password (the Basic scheme).
    public func answered(user: String, password: String) -> URLRequest {
        answered(authorization: "Basic " + "\(user):\(password)".asUTF8.base64EncodedString())
    }

    /// Returns the request with that `Authorization` header.
    public func answered(authorization: String) -> URLRequest {
        var answered = request
        answered.setValue(authorization, forHTTPHeaderField: "Authorization")
        return answered
    }
}

/// A server that sends the client on to another address; see ``TransferOptions/onRedirect``.
public struct TransferRedirect: Sendable, CustomStringConvertible {
    /// What was asked for.
    public let request: URLRequest
    /// The answer: status 301, 302, 303, 307 or 308, with a `Location`.
    public let response: HTTPURLResponse
    /// The request that follows: without credentials if that is to another host, port or scheme, and as a `GET`
    /// after 303, or 301 and 302 to a `POST`.
    public let next: URLRequest
    /// 1 for the first redirect. What the library requests of its own accord (the rest of a body, a mirror)
    /// counts anew.
    public let count: Int

    /// Creates a redirect, for a test of a closure that decides about it.
    public init(request: URLRequest, response: HTTPURLResponse, next: URLRequest, count: Int = 1) {
        self.request = request
        self.response = response
        self.next = next
        self.count = count
    }

    /// The status and the two addresses, without user and password.
    public var description: String { "\(response.statusCode): \(request.errorURL) to \(next.errorURL)" }

    /// What to do about a redirect.
    public enum Decision: Sendable {
        /// Send ``TransferRedirect/next``.
        case follow
        /// Take the redirect itself as the answer: a failure with its status, and the first bytes of its body.
        /// (For a success, add the status to ``TransferOptions/acceptedStatuses``.)
        case stop
        /// Send another request. It counts as a redirect.
        case change(URLRequest)

        /// The request to send; nil if there is none.
        func request(of redirect: TransferRedirect) -> URLRequest? {
            switch self {
            case .follow: redirect.next
            case .stop: nil
            case .change(let next): next
            }
        }
    }
}

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
