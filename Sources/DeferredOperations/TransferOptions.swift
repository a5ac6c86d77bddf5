public import Deferred
public import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// What a transfer may and may not do, beyond what its `URLRequest` says.
public struct TransferOptions: Sendable {
    /// The statuses that count as success: 2xx. Any other is ``DataSourceError/status(_:)``.
    public var acceptedStatuses = Set(200..<300)

    /// The largest body taken, in bytes as they are after decompression; nil for no limit. A body that is
    /// announced as larger, or turns out to be, is ``DataSourceError/tooLarge(_:limit:)``, and the rest of it
    /// is not read.
    public var maximumByteCount: Int64?

    /// How much of the body of an answer whose status is not accepted goes into the error, in bytes.
    public var errorByteCount = 4096

    /// The longest silence: a transfer of which nothing is heard for so long, from its start on, fails with
    /// ``DataSourceError/timedOut(_:_:)``, at the latest an eighth of that time later. Nil is the request's
    /// `timeoutInterval`, which is 60 s unless it was set.
    public var silenceTimeout: Duration?

    /// How long a transfer may take as a whole, from when its operation is started; nil for no limit.
    public var totalTimeout: Duration?

    /// Keeps the time of the two limits. The work that it runs is short.
    public var timer: any DelayedDispatcher = DispatchQueue.global(qos: .utility)

    /// How many redirects are followed.
    ///
    /// Credentials in the request's headers (`Authorization`, `Cookie`) are not carried to another host, port
    /// or scheme. A `POST` becomes a `GET` after 301, 302 and 303; after 307 and 308 method and body are
    /// repeated.
    public var maximumRedirectCount = 20

    /// A file to send as the body, in place of the request's own.
    public var uploadFile: URL?

    /// Asks for the body only if it has changed since (`If-Modified-Since`). If it has not, the status is 304
    /// and the transfer succeeds without a body.
    public var ifModifiedSince: Date?

    /// Asks for the body only if its tag is another (`If-None-Match`); otherwise as ``ifModifiedSince``.
    public var ifNoneMatch: String?

    /// Told how far the transfer is when that has changed, the last call has returned, and that was some time
    /// ago: at most 50 times a second. The last call before a success has the final figures. Runs on a queue
    /// of the transfer's own.
    public var onProgress: (@Sendable (TransferProgress) -> Void)?

    /// Asked for a request with credentials when the server answers 401; nil in the Deferred is to leave it
    /// at that. Runs on a queue of the transfer's own. Asked at most three times for one transfer.
    ///
    /// ```swift
    /// options.onChallenge = { challenge in
    ///     .resolved(challenge.attempt == 1 ? challenge.answered(user: "me", password: "secret") : nil)
    /// }
    /// ```
    public var onChallenge: (@Sendable (AuthenticationChallenge) throws -> Deferred<URLRequest?>)?

    /// The defaults.
    public init() {}
}

/// How far a transfer is.
public struct TransferProgress: Sendable, Hashable {
    /// How many bytes of the body have come, including those a resumed download had already.
    public var received: Int64
    /// How many there are to be, if the server has said.
    public var expected: Int64?
    /// How many bytes of the request's body have been sent.
    public var sent: Int64

    /// Figures as given.
    public init(received: Int64 = 0, expected: Int64? = nil, sent: Int64 = 0) {
        self.received = received
        self.expected = expected
        self.sent = sent
    }

    /// The part that has come, from 0 to 1; nil while the whole is unknown.
    public var fraction: Double? {
        expected.map { $0 > 0 ? min(1, Double(received) / Double($0)) : 1 }
    }
}

/// A server that wants to know who asks.
public struct AuthenticationChallenge: Sendable {
    /// What was asked for.
    public let request: URLRequest
    /// The answer: status 401, with `WWW-Authenticate` among its headers.
    public let response: HTTPURLResponse
    /// 1 for the first challenge of a transfer, 2 if the answer to that was refused, and so on.
    public let attempt: Int

    /// The request with a name and password (the Basic scheme).
    public func answered(user: String, password: String) -> URLRequest {
        answered(authorization: "Basic " + Data("\(user):\(password)".utf8).base64EncodedString())
    }

    /// The request with an `Authorization` header as given.
    public func answered(authorization: String) -> URLRequest {
        var answered = request
        answered.setValue(authorization, forHTTPHeaderField: "Authorization")
        return answered
    }
}
