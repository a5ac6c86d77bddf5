import DeferredOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What has been written to standard output of one download, and whether another attempt can continue it.
///
/// What has been written cannot be taken back: after that, only the rest can be asked for (`Range` with `If-Range`).
///
/// Sound as `@unchecked Sendable`: `state` is accessed only under `lock`.
final class StreamedOutput: @unchecked Sendable {
    private struct State {
        var written: Int64 = 0
        /// What is being written: its reader may have it, and have left, before `written` says so.
        var inProgress: Int64 = 0
        /// The length of the whole, if it is known.
        var total: Int64?
        /// For `If-Range`; nil if the rest cannot be asked for.
        var validator: String?
        var status: Int?
        var isStopped = false
    }

    private let base: URLRequest
    private let lock = NSLock()
    private var state = State()

    init(_ request: URLRequest) {
        var request = request
        // As a download asks: compressed, the announced length would not be that of the body.
        if request.value(forHTTPHeaderField: "Accept-Encoding") == nil {
            request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
        base = request
    }

    /// The request of the next attempt.
    var request: URLRequest {
        let (written, validator) = lock.withLock { (state.written, state.validator) }
        guard written > 0 else { return base }
        var request = base
        request.setValue("bytes=\(written)-", forHTTPHeaderField: "Range")
        request.setValue(validator, forHTTPHeaderField: "If-Range")
        return request
    }

    var canContinue: Bool { lock.withLock { state.written == 0 || state.validator != nil } }
    var written: Int64 { lock.withLock { state.written } }
    var status: Int? { lock.withLock { state.status } }

    /// Whether everything has been written that was announced, or is being written, which then fails if its reader has left
    /// too soon: the reader may leave.
    var isComplete: Bool {
        lock.withLock { state.total.map { $0 == state.written + state.inProgress } ?? false }
    }

    /// Takes the head of the answer that is written from now on.
    func begin(_ response: HTTPURLResponse) throws {
        let length = response.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }
        let isPlain = response.contentCodings.isEmpty && base.value(forHTTPHeaderField: "Range") == nil
        try lock.withLock {
            guard state.written > 0 else {
                state.total = isPlain ? length : nil
                state.validator = isPlain && !response.hasNoRanges ? response.rangeValidator : nil
                return state.status = response.statusCode
            }
            let isRest =
                response.statusCode == 206 && response.confirms(state.validator)
                && (state.total == nil || length == nil || state.total == state.written + (length ?? 0))
            guard isRest else { throw Changed(written: state.written) }
        }
    }

    func write(_ piece: Data, to output: OutputDescriptor) throws {
        lock.withLock { state.inProgress = Int64(piece.count) }
        defer { lock.withLock { state.inProgress = 0 } }
        try output.write(piece, unless: { lock.withLock { state.isStopped } }) { count in
            lock.withLock {
                state.written += Int64(count)
                state.inProgress -= Int64(count)
            }
        }
    }

    /// Makes a write that waits for its reader throw `CancellationError`.
    func stop() { lock.withLock { state.isStopped = true } }

    /// The error of an attempt to continue something that the server no longer has.
    struct Changed: Error, CustomStringConvertible {
        let written: Int64

        var description: String {
            "the server no longer has the rest of what was written (\(written) bytes); "
                + "-o FILE in place of '-o -' can begin again"
        }
    }
}

// Sound as `@unchecked Sendable`: its property is a constant of a `Sendable` type.
/// Writes a body to standard output as it comes.
final class OutputSource: StreamDataSource, @unchecked Sendable {
    let output: StreamedOutput

    init(_ output: StreamedOutput, options: TransferOptions, session: TransferSession) {
        self.output = output
        super.init(output.request, options: options, session: session) { piece in
            try output.write(piece, to: .standardOutput)
        }
    }

    override func stop() { output.stop() }
}
