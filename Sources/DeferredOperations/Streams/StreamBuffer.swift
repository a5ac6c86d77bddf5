internal import Deferred
internal import Foundation

/// The pieces of a body between the transfer that they come from and their consumer.
///
/// Up to `limit` bytes wait in memory, what comes beyond that in a temporary file. The transfer appends pieces under
/// its own lock, and calls the consumer with `deliver()` when it has released that. A transfer that can pause does so
/// when the file has `pauseByteCount` bytes; `onRoom` is called once the consumer has taken them all.
///
/// The consumer and `onRoom` are called when the lock has been released.
final class StreamBuffer: Sendable {
    /// What a consumer receives: pieces, or at the end none or the error.
    typealias Taken = Result<[Data], any Error>

    private let state: Locked<State>

    init(limit: Int, pauseByteCount: Int64, isOver: Bool = false) {
        state = Locked(State(limit: limit, pauseByteCount: pauseByteCount, isOver: isOver))
    }

    /// Whether the body has ended for the transfer.
    var hasEnded: Bool { state.withLock { $0.isOver } }

    /// Whether the body was cancelled. Bytes that were taken are then discarded.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    // MARK: The transfer

    /// Sets the closure that is called when a paused transfer may continue.
    func setOnRoom(_ onRoom: @escaping @Sendable () -> Void) {
        state.withLock { $0.setOnRoom(onRoom) }
    }

    /// Adds a piece. Returns whether the transfer is to pause, if it can; if so, `onRoom` will be called.
    func append(_ piece: Data, mayPause: Bool) throws -> Bool {
        try state.withLock { try $0.append(piece, mayPause: mayPause) } == .pauses
    }

    /// Ends the body; the first call counts, or a cancel after it. After a cancel, waiting bytes are dropped.
    func end(_ error: (any Error)?) {
        // What it returns is released without the lock.
        _ = state.withLock { $0.end(error) }
        deliver()
    }

    /// Calls the consumers that wait, as far as there is something for them.
    func deliver() {
        while case .delivers(let taken, let consumer, let onRoom) = state.withLock({ $0.deliver() }) {
            onRoom?()
            consumer(taken)
        }
    }

    // MARK: The consumer

    /// Calls `consumer` once with the next bytes: at once, or from `deliver()`.
    func take(_ consumer: @escaping Consumer) {
        state.withLock { $0.wait(consumer) }
        deliver()
    }

    /// Notes the Deferred whose failure readers of the body may receive.
    func note(_ request: Request) {
        if state.withLock({ $0.note(request) }) == .wasThrown { request.fail { _ in } }
    }

    /// Notes that a reader receives the failure: it counts as handled (U1).
    func handleFailure() {
        state.withLock { $0.throwFailure() }?.fail { _ in }
    }
}

/// Passes the body on to a ``StreamBuffer``.
///
/// When that is full, the transfer pauses, if it can continue later: the length of the body is known, and the server
/// supports ranges and sends a validator.
///
/// Sound as `@unchecked Sendable`: the variables are accessed under the transfer's lock, and by its completion after
/// that.
final class StreamSink: TransferSink, @unchecked Sendable {
    private let buffer: StreamBuffer
    private let request: URLRequest
    let onHead: (@Sendable (HTTPURLResponse) -> Void)?
    private(set) var byteCount: Int64 = 0
    /// The answer that the body began with.
    private(set) var response: HTTPURLResponse?
    private var total: Int64?
    /// For `If-Range`; nil if the body can't be continued.
    private var validator: String?

    init(
        _ buffer: StreamBuffer, for request: URLRequest, onHead: @escaping @Sendable (HTTPURLResponse) -> Void
    ) {
        self.buffer = buffer
        self.request = request
        self.onHead = onHead
    }

    func reply(to question: TransferQuestion) throws -> TransferReply {
        switch question {
        case .prepare: .request(request)
        case .begin(let answer): try begin(answer)
        case .completed: requestForRest().map { .request($0) } ?? .complete
        case .unsatisfiable, .failed: .nothing
        }
    }

    private func begin(_ answer: TransferAnswer) throws -> TransferReply {
        let (response, part) = (answer.response, answer.part)
        guard byteCount > 0 else {
            self.response = response
            total = answer.announced
            // The length of a compressed body is not known.
            let isWhole = response.statusCode == 200 && total != nil && request.httpMethod == "GET"
            let isAskedWhole = request.value(forHTTPHeaderField: "Range") == nil
            let hasRanges = response.value(forHTTPHeaderField: "Accept-Ranges")?.lowercased() == "bytes"
            let identifies = isWhole && isAskedWhole && hasRanges
            validator = identifies ? ResumeRecord.validator(of: response) : nil
            return .body(before: 0, total: total)
        }
        // The rest of a body, after a pause.
        guard response.statusCode == 206, part?.bytes?.lowerBound == byteCount, part?.total == total,
            response.hasValidator(validator)
        else {
            // A 206 without the validator may come from a server that ignores `If-Range`.
            let isUnconfirmed = response.statusCode == 206 && response.validators.isEmpty
            throw DataSourceError.malformedResponse(
                request.errorURL,
                reason: isUnconfirmed
                    ? "the rest of the body has neither an ETag nor a Last-Modified"
                    : "the resource has changed while it was being read")
        }
        return .body(before: byteCount, total: total)
    }

    func receive(_ data: Data) throws -> Bool {
        byteCount += Int64(data.count)
        return try buffer.append(data, mayPause: validator != nil && byteCount < total ?? 0)
    }

    private func requestForRest() -> URLRequest? {
        guard let validator, let total, byteCount < total else { return nil }
        return request.asking(from: byteCount, to: nil, if: validator)
    }

    // It discards nothing: the received bytes stay for the consumer, unless the buffer's `end(_:)` drops them.
    func deliver() { buffer.deliver() }
}
