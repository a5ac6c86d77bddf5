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
