internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

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
    private let onHead: @Sendable (HTTPURLResponse) -> Void
    private let isValidated: Bool
    private(set) var byteCount: Int64 = 0
    /// The answer that the body began with.
    private(set) var response: HTTPURLResponse?
    private var total: Int64?
    /// For `If-Range`; nil if the body can't be continued.
    private var validator: String?

    /// - Parameter isValidated: Whether the body is buffered until the head has been validated.
    init(
        _ buffer: StreamBuffer, for request: URLRequest, isValidated: Bool,
        onHead: @escaping @Sendable (HTTPURLResponse) -> Void
    ) {
        self.isValidated = isValidated
        self.buffer = buffer
        self.request = request
        self.onHead = onHead
    }

    func begin(_ response: HTTPURLResponse, part: ContentRange?, announced: Int64?) throws -> AnswerUse {
        guard byteCount > 0 else {
            self.response = response
            total = announced
            if !isValidated { buffer.open() }
            validator = mayContinue(response) ? ResumeRecord.validator(of: response) : nil
            return .body(before: 0, total: announced)
        }
        // The rest of a body, after a pause.
        let tag = ResumeRecord.validator(of: response)
        guard response.statusCode == 206, part?.bytes?.lowerBound == byteCount, part?.total == total,
            tag == nil || tag == validator
        else {
            throw DataSourceError.malformedResponse(
                request.errorURL, reason: "the resource has changed while it was being read")
        }
        return .body(before: byteCount, total: total)
    }

    private func mayContinue(_ response: HTTPURLResponse) -> Bool {
        response.statusCode == 200 && total != nil && !response.hasContentEncoding
            && request.httpMethod == "GET" && request.value(forHTTPHeaderField: "Range") == nil
            && response.value(forHTTPHeaderField: "Accept-Ranges")?.lowercased() == "bytes"
    }

    var keepsUnacceptedBody: Bool { true }
    var wantsHead: Bool { true }

    func hasAccepted(_ response: HTTPURLResponse) {
        onHead(response)
        buffer.open()
        buffer.deliver()
    }

    func receive(_ data: Data) throws {
        try buffer.append(data)
        byteCount += Int64(data.count)
    }

    func pausesTransfer() -> Bool {
        guard validator != nil, let total, byteCount < total else { return false }
        return buffer.pauseIfFull()
    }

    func requestForRest(after response: HTTPURLResponse) -> URLRequest? {
        guard let validator, let total, byteCount < total else { return nil }
        var rest = request
        rest.setValue(RequestedRange(first: byteCount, last: nil).header, forHTTPHeaderField: "Range")
        rest.setValue(validator, forHTTPHeaderField: "If-Range")
        return rest
    }

    func deliver() { buffer.deliver() }

    func finish() {}

    /// Does nothing: the received bytes stay for the consumer, unless the buffer's `end(_:)` drops them.
    func discard() {}
}
