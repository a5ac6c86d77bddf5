internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Where a transfer puts the body. All calls come one at a time, under the transfer's lock.
protocol TransferSink: AnyObject {
    /// An answer with an accepted status has come; the body follows.
    ///
    /// - Parameter announced: How long the body is to be, if that was said.
    /// - Returns: How much of the whole there was before this answer.
    func begin(_ response: HTTPURLResponse, announced: Int64?) throws -> Int64

    /// The next piece of the body.
    func receive(_ data: Data) throws

    /// The body is whole.
    func finish() throws

    /// The transfer has failed or was cancelled, at whatever point, `finish()` included. May come twice.
    func discard()

    /// The request to make instead, when the server cannot give the part that was asked for (416); nil if it
    /// is no fault of this sink's.
    func request(insteadOf request: URLRequest) throws -> URLRequest?
}

extension TransferSink {
    func request(insteadOf request: URLRequest) throws -> URLRequest? { nil }
}

/// Keeps the body in memory.
///
/// Sound as `@unchecked Sendable`: it is touched under the transfer's lock, and after that by the transfer's
/// completion alone.
final class MemorySink: TransferSink, @unchecked Sendable {
    private(set) var data = Data()

    func begin(_ response: HTTPURLResponse, announced: Int64?) -> Int64 {
        data = Data()
        // What is announced is only believed up to a point.
        if let announced { data.reserveCapacity(Int(clamping: min(announced, 1 << 24))) }
        return 0
    }

    func receive(_ data: Data) {
        self.data.append(data)
    }

    func finish() {}

    func discard() {
        data = Data()
    }
}
