internal import Foundation

/// What a transfer asks its sink.
indirect enum TransferQuestion {
    /// For the first request.
    case prepare
    case begin(TransferAnswer)
    /// What is missing, after an answer that was complete in itself, or after a pause.
    case completed
    /// A 416.
    case unsatisfiable(HTTPURLResponse, orElse: DataSourceError)
    case failed(any Error, FailureCause)
}

/// What a sink replies.
indirect enum TransferReply {
    /// Receives the body. `before` bytes of the whole were received earlier; `total` is the expected length.
    case body(before: Int64, total: Int64?)
    case request(URLRequest)
    /// The whole is to be checked, without a lock.
    case verify(@Sendable () throws -> Void)
    case complete
    case nothing
    case failed(any Error)
}

/// The answer to the present request.
struct TransferAnswer {
    let response: HTTPURLResponse
    /// Which part of the resource the body is, if it is a 206 with one range.
    var part: ContentRange?
    /// Whether the transport removes a coding from the body: lengths and ranges are not those of what it delivers.
    var isDecoded = false
    /// How long the body is to be, if that is known.
    var announced: Int64?
    var received: Int64 = 0
    /// Whether the body was kept apart, and how its task has ended meanwhile: `.some(nil)` without an error.
    var isStaged = false
    var end: (any Error)??
    /// The first bytes of a body that is not wanted, and how many have been received.
    var sample = Data()
    var sampledByteCount: Int64 = 0
}

/// What has failed.
enum FailureCause {
    /// The transfer itself.
    case transfer
    /// The answer, before the sink has received any of it: `validateResponse` has refused it.
    case refusal
    /// The check of the whole.
    case verification
}

/// Where a transfer puts the body. All calls but the last two come one at a time, under the transfer's lock.
protocol TransferSink: AnyObject, Sendable {
    /// Replies to a question of the transfer's. What it throws ends the transfer, or has another mirror asked.
    func reply(to question: TransferQuestion) throws -> TransferReply

    /// Takes the next piece of the body. Returns whether there is no room for more: the transfer pauses until its
    /// machine handles `room`.
    func receive(_ data: Data) throws -> Bool

    /// Moves the complete body to its destination.
    func finish() throws

    /// Discards the received bytes: the transfer has failed or was cancelled, at any time, also after `finish()`. May
    /// be called twice.
    ///
    /// - Returns: The file that the caller is to close without the lock: for a large one that takes time.
    func discard() -> PartFile?

    /// Called once with the head of the accepted answer, on the transfer's queue, without its lock. The
    /// answer to a request for the rest of a body is not another one.
    var onHead: (@Sendable (HTTPURLResponse) -> Void)? { get }

    /// Passes on the received bytes. Called without the lock, from any thread.
    func deliver()
}

extension TransferSink {
    var onHead: (@Sendable (HTTPURLResponse) -> Void)? { nil }
    func deliver() {}
    func finish() {}
    func discard() -> PartFile? { nil }
}

/// Keeps the body in memory.
///
/// Sound as `@unchecked Sendable`: it is accessed under the transfer's lock, and after that by the transfer's
/// completion alone.
final class MemorySink: TransferSink, @unchecked Sendable {
    private(set) var data = Data()
    private let request: URLRequest

    init(_ request: URLRequest) { self.request = request }

    func reply(to question: TransferQuestion) throws -> TransferReply {
        switch question {
        case .prepare: return .request(request)
        case .begin(let answer):
            data = Data()
            // A server may announce more than it sends.
            data.reserveCapacity(Int(clamping: min(answer.announced ?? 0, 1 << 24)))
            return .body(before: 0, total: answer.announced)
        case .completed: return .complete
        case .unsatisfiable, .failed: return .nothing
        }
    }

    func receive(_ data: Data) -> Bool {
        self.data.append(data)
        return false
    }

    func discard() -> PartFile? {
        data = Data()
        return nil
    }
}
