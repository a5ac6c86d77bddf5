internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Where a transfer puts the body. All calls come one at a time, under the transfer's lock.
protocol TransferSink: AnyObject, Sendable {
    /// Takes an answer with an accepted status, whose body follows.
    ///
    /// - Parameters:
    ///   - part: Which part of the resource the body is, if it is a 206 with one range.
    ///   - announced: How long the body is to be, if that is known.
    func begin(_ response: HTTPURLResponse, part: ContentRange?, announced: Int64?) throws -> AnswerUse

    /// Takes the next piece of the body.
    func receive(_ data: Data) throws

    /// Whether the transfer is to pause after what it has received; it is continued by `Transfer.unpause()`.
    func pausesTransfer() -> Bool

    /// The request for the missing rest, after an answer that was complete in itself.
    func requestForRest(after response: HTTPURLResponse) throws -> URLRequest?

    /// The check to run before `finish()`, without a lock; nil for none.
    func verification() throws -> (@Sendable () throws -> Void)?

    /// Moves the complete body to its destination.
    func finish() throws

    /// Discards the received bytes: the transfer has failed or was cancelled, at any time, also after `finish()`. May
    /// be called twice.
    func discard()

    /// Decides what to do after a 416: the server can't send the part that was requested.
    func use(ofUnsatisfiable response: HTTPURLResponse) throws -> UnsatisfiableUse

    /// The request to make instead after a failure, to a mirror; nil if there is none.
    ///
    /// - Parameter cause: What has failed.
    func request(after error: any Error, from cause: FailureCause) -> URLRequest?

    // MARK: Without the transfer's lock, from any thread

    /// Whether it takes an answer before that has been accepted, and keeps its body apart until then.
    var keepsUnacceptedBody: Bool { get }

    /// Whether `hasAccepted(_:)` is to be called.
    var wantsHead: Bool { get }

    /// Notes that the answer is the one wanted, once it has been validated.
    func hasAccepted(_ response: HTTPURLResponse)

    /// Passes on the received bytes.
    func deliver()
}

/// How an answer is used.
enum AnswerUse {
    /// Receive its body. `before` bytes of the whole were received earlier; `total` is the expected length.
    case body(before: Int64, total: Int64?)
    /// It cannot be used; send this request instead.
    case resend(URLRequest)
}

/// What has failed.
enum FailureCause {
    /// The transfer itself.
    case transfer
    /// The answer, before the sink has received any of it: `validateResponse` has refused it.
    case refusal
    /// The sink's `verification()`.
    case verification
}

/// How to continue after status 416.
enum UnsatisfiableUse {
    /// The part file is already complete.
    case complete
    /// The part file cannot be continued; send this request instead.
    case resend(URLRequest)
    /// It is the answer to the caller's own request.
    case failure
}

extension TransferSink {
    func pausesTransfer() -> Bool { false }
    func requestForRest(after response: HTTPURLResponse) throws -> URLRequest? { nil }
    func verification() throws -> (@Sendable () throws -> Void)? { nil }
    func use(ofUnsatisfiable response: HTTPURLResponse) throws -> UnsatisfiableUse { .failure }
    func request(after error: any Error, from cause: FailureCause) -> URLRequest? { nil }
    var keepsUnacceptedBody: Bool { false }
    var wantsHead: Bool { false }
    func hasAccepted(_ response: HTTPURLResponse) {}
    func deliver() {}
}

/// Keeps the body in memory.
///
/// Sound as `@unchecked Sendable`: it is touched under the transfer's lock, and after that by the transfer's
/// completion alone.
final class MemorySink: TransferSink, @unchecked Sendable {
    private(set) var data = Data()
    /// The caller's own range.
    private let range: RequestedRange?
    private var part: ContentRange?

    init(_ request: URLRequest) {
        range = request.value(forHTTPHeaderField: "Range").flatMap { RequestedRange($0) }
    }

    func begin(_ response: HTTPURLResponse, part: ContentRange?, announced: Int64?) -> AnswerUse {
        self.part = part
        data = Data()
        // A server may announce more than it sends.
        if let announced { data.reserveCapacity(Int(clamping: min(announced, 1 << 24))) }
        return .body(before: 0, total: announced)
    }

    func receive(_ data: Data) {
        self.data.append(data)
    }

    func requestForRest(after response: HTTPURLResponse) throws -> URLRequest? {
        guard let bytes = part?.bytes, let total = part?.total, let expected = range?.byteCount(of: total),
            bytes.upperBound - bytes.lowerBound + 1 < expected, let url = response.url
        else { return nil }
        throw DataSourceError.truncated(url.withoutUserInfo, received: Int64(data.count), expected: expected)
    }

    func finish() {}

    func discard() {
        data = Data()
    }
}
