internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Where a transfer puts the body. All calls but the last two come one at a time, under the transfer's lock.
protocol TransferSink: AnyObject, Sendable {
    /// Replies to a question of the transfer's. What it throws ends the transfer, or has another mirror asked.
    func reply(to question: TransferStateMachine.Question) throws -> TransferStateMachine.Reply

    /// Takes the next piece of the body. Returns whether there is no room for more: the transfer pauses until its owner
    /// calls `Transfer.unpause()`.
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
}

/// Keeps the body in memory.
///
/// Sound as `@unchecked Sendable`: it is accessed under the transfer's lock, and after that by the transfer's
/// completion alone.
final class MemorySink: TransferSink, @unchecked Sendable {
    private(set) var data = Data()
    private let request: URLRequest
    private var part: ContentRange?

    init(_ request: URLRequest) { self.request = request }

    func reply(to question: TransferStateMachine.Question) throws -> TransferStateMachine.Reply {
        switch question {
        case .prepare: return .request(request)
        case .begin(let answer):
            part = answer.part
            data = Data()
            // A server may announce more than it sends.
            if let announced = answer.announced {
                data.reserveCapacity(Int(clamping: min(announced, 1 << 24)))
            }
            return .body(before: 0, total: answer.announced)
        case .completed:
            try checkPart()
            return .complete
        case .unsatisfiable, .failed: return .nothing
        }
    }

    /// Throws if the server has sent less than the request's range.
    private func checkPart() throws(DataSourceError) {
        let range = request.value(forHTTPHeaderField: "Range").flatMap { RequestedRange($0) }
        guard let bytes = part?.bytes, let expected = range?.byteCount(of: part?.total),
            bytes.upperBound - bytes.lowerBound + 1 < expected
        else { return }
        throw .truncated(request.errorURL, received: Int64(data.count), expected: expected)
    }

    func receive(_ data: Data) -> Bool {
        self.data.append(data)
        return false
    }

    func finish() {}

    func discard() -> PartFile? {
        data = Data()
        return nil
    }
}
