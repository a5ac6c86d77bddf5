public import Deferred
public import Foundation

/// The errors of data sources, apart from `CancellationError` and what your own closures and subclasses throw.
///
/// The ``description`` of each names the URL or the file and what happened to it, for a log or a terminal. URLs are
/// without user and password.
public enum DataSourceError: Error {
    // MARK: Any data source

    /// An operation was requested a second time, or had been started before it was requested.
    case alreadyRequested
    /// A data source was requested from a ``DataSourceManager`` that had been stopped.
    case managerStopped
    /// A subclass does not override the method named.
    case notOverridden(String)

    // MARK: Before an answer

    /// The request cannot be sent: not `http` or `https`, no host, a `GET` with a body, an unreadable upload.
    case invalidRequest(URL?, reason: String)
    /// A redirect or a challenge needs the request's body to be sent again, and that is a stream, which can be read
    /// only once. Set ``TransferOptions/makeBodyStream``, or send a file (``TransferOptions/uploadFile``).
    case cannotResendBody(URL)
    /// No connection to the server could be made: refused, unreachable, unknown host, no agreement on TLS.
    case cannotConnect(URL, reason: String)
    /// The connection was lost before the answer or in the middle of it: reset, or closed without an answer.
    case connectionLost(URL, reason: String)
    /// A time limit of ``TransferOptions`` was exceeded.
    case timedOut(URL, TimeLimit)
    /// The server's answer is not valid HTTP, or contradicts the request, as a part (206) does where the whole was
    /// requested.
    case malformedResponse(URL, reason: String)
    /// There were more redirects than ``TransferOptions/maximumRedirectCount``; `last` is the target of the one that
    /// was not followed.
    case tooManyRedirects(URL, count: Int, last: URL)
    /// A redirect to something other than `http` or `https`.
    case invalidRedirect(URL, location: String)

    // MARK: The answer

    /// A status that is not among the accepted ones.
    case status(StatusFailure)
    /// The body, or the length announced for it, is larger than the limit.
    case tooLarge(URL, limit: Int64)
    /// The body was shorter than announced. `expected` is nil if no length was announced.
    case truncated(URL, received: Int64, expected: Int64?)
    /// A download has another length than the one expected. `actual` is how long it would be, or how much had
    /// arrived when that was noticed.
    case unexpectedLength(URL, expected: Int64, actual: Int64)
    /// A file does not have the expected checksum. The closure that verifies a download throws it, with both sums as
    /// text.
    case checksumMismatch(URL, expected: String, actual: String)
    /// The body is announced as compressed, and cannot be decompressed.
    case malformedContent(URL, reason: String)
    /// The body is not JSON, or cannot be decoded as the wanted type; `reason` names the place.
    case malformedJSON(URL, reason: String)

    // MARK: The destination of a download

    /// A file exists at the destination.
    case destinationExists(URL)
    /// The destination, or the part file beside it, cannot be written: no such folder, no permission, no space, or
    /// not a regular file.
    case cannotWrite(URL, reason: String)
    /// Another download, here or in another process, is writing the same part file.
    case destinationBusy(URL)

    /// Which limit of ``TransferOptions`` was exceeded.
    public enum TimeLimit: Sendable, Hashable {
        /// No byte arrived for this long.
        case silence(Duration)
        /// The transfer had not ended after this long.
        case total(Duration)
    }

    /// An answer whose status was not accepted.
    public struct StatusFailure: Sendable, CustomStringConvertible {
        /// The address that answered, after redirects.
        public let url: URL
        /// The status code.
        public let code: Int
        /// The headers, names as sent.
        public let headers: [String: String]
        /// The first bytes of the body, up to ``TransferOptions/errorByteCount``.
        public let body: Data

        init(_ response: HTTPURLResponse, url: URL, body: Data = Data()) {
            self.url = url.withoutUserInfo
            self.body = body
            code = response.statusCode
            headers = response.headers
        }

        /// The address, the status and its meaning.
        public var description: String { DataSourceError.status(self).description }

        /// Returns the value of a header, whose name is compared without regard to case.
        public subscript(header name: String) -> String? {
            headers.first { $0.key.caseInsensitiveCompare(name) == .orderedSame }?.value
        }

        /// How long the server asks the client to wait from now on (`Retry-After`); nil if it does not say, and zero if
        /// the time has passed.
        public var retryAfter: Duration? {
            self[header: "Retry-After"].flatMap { HTTPDate.delay($0, from: Date()) }
        }
    }
}

extension DataSourceError: CustomStringConvertible, LocalizedError {
    /// Describes what happened, to which URL or file, and why.
    public var description: String {
        let (url, words) = subjectAndWords
        // Without users also in an error that was not made here (O9).
        let subject = url.map { ($0.isFileURL ? $0.path : $0.withoutUserInfo.absoluteString) + ": " } ?? ""
        let parts = words.components(separatedBy: " ").map { $0.contains("//") ? $0.withoutUserInfo : $0 }
        return subject + parts.joined(separator: " ")
    }

    private var subjectAndWords: (URL?, String) {
        switch self {
        case .alreadyRequested:
            (nil, "this operation has been requested or started before; create a new one for each request")
        case .managerStopped: (nil, "the manager has been stopped and accepts no more requests")
        case .notOverridden(let method):
            (nil, "\(method) is not overridden; override it, or create the data source with a closure")
        case .invalidRequest(let url, let reason): (url, reason)
        case .cannotResendBody(let url):
            (url, "the body is a stream that has been read and cannot be sent again; set makeBodyStream")
        case .cannotConnect(let url, let reason): (url, "cannot connect: \(reason)")
        case .connectionLost(let url, let reason): (url, "connection lost: \(reason)")
        case .timedOut(let url, .silence(let time)): (url, "timed out: nothing heard for \(time.inWords)")
        case .timedOut(let url, .total(let time)): (url, "timed out: not done after \(time.inWords)")
        case .malformedResponse(let url, let reason): (url, "the answer is not proper HTTP: \(reason)")
        case .tooManyRedirects(let url, let count, let last):
            (url, "redirected more than \(count) times, last to \(last.absoluteString)")
        case .invalidRedirect(let url, let to):
            (url, "redirected to \(to.withoutUserInfo), which is not http")
        case .status(let failure):
            (failure.url, "\(failure.code) \(HTTPURLResponse.localizedString(forStatusCode: failure.code))")
        case .tooLarge(let url, let limit): (url, "larger than the limit of \(limit) bytes")
        case .truncated(let url, let received, let expected?):
            (url, "truncated: \(received) of \(expected) bytes")
        case .truncated(let url, let received, nil):
            (url, "truncated: the connection ended in the middle of the body, after \(received) bytes")
        case .unexpectedLength(let url, let expected, let actual):
            (url, "\(actual) bytes, where \(expected) were expected")
        case .checksumMismatch(let url, let expected, let actual):
            (url, "the checksum is \(actual), where \(expected) was expected")
        case .malformedContent(let url, let reason): (url, "the body cannot be decompressed: \(reason)")
        case .malformedJSON(let url, let reason): (url, "unexpected JSON: \(reason)")
        case .destinationExists(let file): (file, "exists already")
        case .cannotWrite(let file, let reason): (file, "cannot be written: \(reason)")
        case .destinationBusy(let file): (file, "another download is writing it")
        }
    }

    /// Returns ``description``.
    public var errorDescription: String? { description }
}

extension Duration {
    /// In seconds, as short as it can be: `2 s`, `0.25 s`.
    var inWords: String { String(format: "%.10g s", (self / .milliseconds(1)).rounded() / 1000) }
}

/// Decides which requests to repeat, and when: for `Deferred.retry`.
///
/// ```swift
/// Deferred.retry(attempts: 5, delay: .retryAfter(), when: DataSourceError.isWorthRepeating(request)) {
///     URLDataSource(request).request(on: queue)
/// }
/// ```
extension DataSourceError {
    /// Whether the same request may succeed a little later: the server was busy or failed (5xx, 408, 429), or the
    /// connection was refused, lost, silent or ended early.
    public var isTransient: Bool {
        switch self {
        case .status(let failure): [408, 429].contains(failure.code) || 500..<600 ~= failure.code
        case .cannotConnect, .connectionLost, .timedOut, .truncated: true
        default: false
        }
    }

    /// Returns a predicate for the errors of `request` after which to repeat it: transient ones; if the request is not
    /// safe to repeat, such as a `POST`, only those after which the server cannot have acted on it.
    public static func isWorthRepeating(_ request: URLRequest) -> @Sendable (any Error) -> Bool {
        let isSafe = request.isSafeToRepeat
        return { error in
            guard let error = error as? DataSourceError, error.isTransient else { return false }
            // Not reached, or refused by the server: it cannot have acted on the request.
            if case .status(let failure) = error, failure.code == 429 { return true }
            if case .cannotConnect = error { return true }
            return isSafe
        }
    }
}

extension URLRequest {
    /// Whether sending it twice has the same effect as sending it once: true of `GET`, `HEAD`, `PUT`,
    /// `DELETE`, `OPTIONS` and `TRACE`, if the body is not a stream, which can be read only once.
    public var isSafeToRepeat: Bool {
        ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(httpMethod ?? "GET")
            && httpBodyStream == nil
    }
}

extension RetryDelay {
    /// Waits as long as the server asks for (`Retry-After`). If it does not ask, or for less, waits for
    /// `first`, then twice as long each time up to `maximum`, each reduced by up to a half at random.
    ///
    /// - Parameter longest: The limit for the time that the server asks for.
    public static func retryAfter(
        first: Duration = .seconds(1), maximum: Duration = .seconds(60), longest: Duration = .seconds(300),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) -> RetryDelay {
        .custom { attempt, error in
            let grown = min(first * (1 << min(attempt - 1, 30)), maximum) * (1 - 0.5 * random())
            guard case DataSourceError.status(let failure) = error, let wanted = failure.retryAfter else {
                return grown
            }
            return max(grown, min(wanted, longest))
        }
    }
}
