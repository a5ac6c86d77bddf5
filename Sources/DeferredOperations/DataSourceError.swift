public import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// What a data source fails with, apart from `CancellationError` and what a subclass of yours throws.
///
/// Each says in words what happened to which URL: `"\(error)"` is fit for a log or a terminal.
public enum DataSourceError: Error {
    // MARK: Of any data source

    /// An operation was requested for the second time, or had been started before it was requested.
    case alreadyRequested
    /// A ``DataSourceManager`` was asked for more after it had been stopped.
    case managerStopped
    /// A subclass does not override the method named.
    case notOverridden(String)

    // MARK: Of the way to an answer

    /// The request cannot be sent at all: not `http` or `https`, no host, a `GET` with a body, an unreadable
    /// upload.
    case invalidRequest(URL?, reason: String)
    /// There is no connection to the server: refused, unreachable, unknown host, no agreement on TLS.
    case cannotConnect(URL, reason: String)
    /// The connection broke before there was an answer, or in the middle of it: reset, or closed without a
    /// word.
    case connectionLost(URL, reason: String)
    /// Nothing was heard, or the whole was not there, in the time given.
    case timedOut(URL, TimeLimit)
    /// The server's answer is not HTTP, or not HTTP that can be read: also a part (206) of what was asked for as
    /// a whole.
    case malformedResponse(URL, reason: String)
    /// More redirects than allowed, as in a loop; `last` is where the next one would have led.
    case tooManyRedirects(URL, count: Int, last: URL)
    /// A redirect to something other than `http` or `https`.
    case invalidRedirect(URL, location: String)

    // MARK: Of the answer

    /// A status that is not among the accepted ones.
    case status(StatusFailure)
    /// The body, or the length announced for it, is larger than the limit.
    case tooLarge(URL, limit: Int64)
    /// The body ended before all that was announced had come. `expected` is nil if no length was announced.
    case truncated(URL, received: Int64, expected: Int64?)
    /// The body is said to be compressed and cannot be decompressed.
    case malformedContent(URL, reason: String)
    /// The body is not JSON, or not of the type wanted; `reason` says where.
    case malformedJSON(URL, reason: String)

    // MARK: Of the destination of a download

    /// There is something at the destination already.
    case destinationExists(URL)
    /// The destination, or the part file beside it, cannot be written: no such folder, no permission, no
    /// room.
    case cannotWrite(URL, reason: String)
    /// Another download, here or in another process, is writing the same part file.
    case destinationBusy(URL)

    /// Which limit of ``TransferOptions`` was exceeded.
    public enum TimeLimit: Sendable, Hashable {
        /// So long without a byte.
        case silence(Duration)
        /// So long from start to end.
        case total(Duration)
    }

    /// An answer whose status was not accepted.
    public struct StatusFailure: Sendable {
        /// The address that gave it, after redirects.
        public let url: URL
        /// The status code.
        public let code: Int
        /// The headers, names as sent.
        public let headers: [String: String]
        /// The first bytes of the body, up to ``TransferOptions/errorByteCount``.
        public let body: Data

        init(_ response: HTTPURLResponse, url: URL, body: Data) {
            self.url = url
            self.body = body
            code = response.statusCode
            var headers: [String: String] = [:]
            for (name, value) in response.allHeaderFields { headers["\(name)"] = "\(value)" }
            self.headers = headers
        }

        /// A header's value, in whatever case its name was sent.
        public subscript(header name: String) -> String? {
            headers.first { $0.key.caseInsensitiveCompare(name) == .orderedSame }?.value
        }

        /// How long the server asks to be left alone (`Retry-After`), from now on; nil if it does not say,
        /// and zero if the moment has passed.
        public var retryAfter: Duration? {
            self[header: "Retry-After"].flatMap { HTTPDate.delay($0, from: Date()) }
        }
    }
}

extension DataSourceError: CustomStringConvertible, LocalizedError {
    /// The error in words.
    public var description: String {
        switch self {
        case .alreadyRequested: "this operation has been requested or started before; an operation runs once"
        case .managerStopped: "the manager has been stopped and takes no more requests"
        case .notOverridden(let method): "\(method) is not overridden, and there is no closure to run"
        case .invalidRequest(let url, let reason): "\(url.map { "\($0.absoluteString): " } ?? "")\(reason)"
        case .cannotConnect(let url, let reason): "\(url.absoluteString): cannot connect: \(reason)"
        case .connectionLost(let url, let reason): "\(url.absoluteString): connection lost: \(reason)"
        case .timedOut(let url, .silence(let time)):
            "\(url.absoluteString): timed out: nothing heard for \(time.inWords)"
        case .timedOut(let url, .total(let time)):
            "\(url.absoluteString): timed out: not done after \(time.inWords)"
        case .malformedResponse(let url, let reason):
            "\(url.absoluteString): the answer is not proper HTTP: \(reason)"
        case .tooManyRedirects(let url, let count, let last):
            "\(url.absoluteString): redirected more than \(count) times, last to \(last.absoluteString)"
        case .invalidRedirect(let url, let location):
            "\(url.absoluteString): redirected to \(location), which is not http"
        case .status(let failure):
            "\(failure.url.absoluteString): \(failure.code) \(HTTPURLResponse.localizedString(forStatusCode: failure.code))"
        case .tooLarge(let url, let limit): "\(url.absoluteString): larger than the limit of \(limit) bytes"
        case .truncated(let url, let received, let expected?):
            "\(url.absoluteString): truncated: \(received) of \(expected) bytes came"
        case .truncated(let url, let received, nil):
            "\(url.absoluteString): truncated: the connection ended in the middle of the body, after \(received) bytes"
        case .malformedContent(let url, let reason):
            "\(url.absoluteString): the body cannot be decompressed: \(reason)"
        case .malformedJSON(let url, let reason): "\(url.absoluteString): unexpected JSON: \(reason)"
        case .destinationExists(let file): "\(file.path): exists already"
        case .cannotWrite(let file, let reason): "\(file.path): cannot be written: \(reason)"
        case .destinationBusy(let file): "\(file.path): another download is writing it"
        }
    }

    /// As ``description``.
    public var errorDescription: String? { description }
}

extension Duration {
    /// In seconds, as short as it can be: `2 s`, `0.25 s`.
    var inWords: String {
        let (seconds, attoseconds) = components
        guard attoseconds != 0 else { return "\(seconds) s" }
        let thousandths = Double(seconds) * 1000 + (Double(attoseconds) / 1e15).rounded()
        return "\(thousandths / 1000) s"
    }
}
