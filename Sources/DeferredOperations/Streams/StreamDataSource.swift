public import Deferred
public import Foundation

// Sound as `@unchecked Sendable`: its properties are constants of `Sendable` types; what changes is behind their locks.
/// Loads what a URL names, over HTTP, and delivers the body in pieces as they come, in constant memory.
///
/// As an asynchronous sequence:
///
/// ```swift
/// let source = StreamDataSource(url)
/// let request = source.request(on: queue)
/// for try await piece in source.body { parser.consume(piece) }
/// ```
///
/// or as calls, one at a time and in order, on a dispatcher:
///
/// ```swift
/// StreamDataSource(url, on: parsing) { piece in try parser.consume(piece) }
///     .request(on: queue)
///     .done { summary in print("\(summary.byteCount) bytes") }
/// ```
///
/// At most twice `bufferByteCount` is in memory. Where the consumer is slower than the network, what comes beyond
/// that waits in a temporary file, and when that has `pauseByteCount` bytes the transfer pauses until the consumer has
/// taken them. A pause does not count as silence. On Linux, where a task cannot be suspended, the rest is requested
/// after the pause (`Range` with `If-Range`); a body that cannot be continued, because its length is not known or
/// the server has no ranges or no validator for it, is not paused there, and waits in the file.
///
/// A body that nothing reads pauses for as long as the transfer may last: until the request is cancelled, or
/// ``TransferOptions/totalTimeout`` is exceeded. Until then the operation keeps its place in the queue. The
/// queue retains the source, from which a body may be taken at any time, so releasing the source or a
/// ``Body`` does not end the transfer. Cancel the request, or set a total time limit, if the body may remain
/// unread.
///
/// A cancel stops the transfer, and so does leaving the loop early: no piece is delivered after that, and the
/// sequence throws `CancellationError`.
///
/// The Deferred is resolved when the whole body has arrived; with calls, when the last of them has returned. Errors are
/// as for ``URLDataSource``: the sequence throws the same one, after the pieces that arrived before it.
open class StreamDataSource: TransferDataSource<StreamDataSource.Summary>, @unchecked Sendable {
    /// The answer and the length of a delivered body.
    public struct Summary: Sendable {
        /// Status and headers; its `url` is where the body came from, after redirects.
        public let response: HTTPURLResponse
        /// How long the body was, after decompression.
        public let byteCount: Int64

        /// Creates a summary, for a subclass that finishes with one of its own.
        public init(response: HTTPURLResponse, byteCount: Int64) {
            self.response = response
            self.byteCount = byteCount
        }
    }

    /// The status and the headers, available before the body: when an answer with an accepted status has arrived, and
    /// has been validated. Fails as the request does; such a failure is not reported if nothing uses this.
    ///
    /// ```swift
    /// source.head.done { response in bar.setLength(response.expectedContentLength) }
    /// ```
    public var head: Deferred<HTTPURLResponse> { headSource.deferred }

    /// The pieces of the body, for one consumer. Empty if they are delivered by calls.
    ///
    /// Releasing it without a loop does not cancel the transfer, which pauses when its buffers are full.
    public var body: Body {
        let empty = StreamBuffer(limit: 1, pauseByteCount: 1, isOver: true)
        return Body(buffer: deliversCalls ? empty : buffer, cancel: { [weak self] in self?.cancel() })
    }

    private struct State: ~Copyable {
        /// Nil once they have begun.
        var calls: StreamCalls?
        /// Nil once the head has been completed.
        var head: Deferred<HTTPURLResponse>.Resolver?
        /// The outcome of the transfer, while calls are still being made.
        var summary: Summary?
    }

    private let headSource = Deferred<HTTPURLResponse>.withResolver()
    private let state: Locked<State>
    private let buffer: StreamBuffer
    private let deliversCalls: Bool

    /// Creates a data source for a request: any method, headers and body.
    ///
    /// - Parameters:
    ///   - bufferByteCount: How much is kept in memory for the consumer: 1 or more; a smaller number counts as 1.
    ///   - pauseByteCount: How much is kept in a file for the consumer before the transfer pauses: 1 or more; a smaller
    ///     number counts as 1.
    ///   - dispatcher: Where `onPiece` runs; nil for a queue of the transfer's own.
    ///   - onPiece: Called with each piece, none of which is empty, one at a time and in order; what it
    ///     throws is the failure, and ends the transfer. Without it the body is delivered by ``body``. The
    ///     Deferred fails after the last call has returned, also when a time limit has ended the transfer; a
    ///     cancel does not wait for the call in progress.
    public init(
        _ request: URLRequest, bufferByteCount: Int = 1 << 18, pauseByteCount: Int64 = 1 << 26,
        options: TransferOptions = .init(), session: TransferSession = .shared,
        on dispatcher: (any Dispatcher)? = nil, onPiece: (@Sendable (Data) throws -> Void)? = nil
    ) {
        buffer = StreamBuffer(limit: bufferByteCount, pauseByteCount: pauseByteCount)
        let calls = onPiece.map { [buffer] in StreamCalls(buffer, dispatcher, $0) }
        state = Locked(State(calls: calls, head: headSource.resolver))
        deliversCalls = calls != nil
        super.init(request, options: options, session: session)
    }

    /// Creates a data source for a plain `GET`.
    public init(
        _ url: URL, bufferByteCount: Int = 1 << 18, pauseByteCount: Int64 = 1 << 26,
        options: TransferOptions = .init(), session: TransferSession = .shared,
        on dispatcher: (any Dispatcher)? = nil, onPiece: (@Sendable (Data) throws -> Void)? = nil
    ) {
        buffer = StreamBuffer(limit: bufferByteCount, pauseByteCount: pauseByteCount)
        let calls = onPiece.map { [buffer] in StreamCalls(buffer, dispatcher, $0) }
        state = Locked(State(calls: calls, head: headSource.resolver))
        deliversCalls = calls != nil
        super.init(URLRequest(url: url), options: options, session: session)
    }

    /// Creates a data source for a request, whose `onPiece` runs on the main actor. Otherwise behaves as the form with
    /// a dispatcher.
    public convenience init(
        _ request: URLRequest, bufferByteCount: Int = 1 << 18, pauseByteCount: Int64 = 1 << 26,
        options: TransferOptions = .init(), session: TransferSession = .shared,
        on _: MainActor.Type, onPiece: @escaping @MainActor @Sendable (Data) throws -> Void
    ) {
        self.init(
            request, bufferByteCount: bufferByteCount, pauseByteCount: pauseByteCount, options: options,
            session: session, on: MainActorDispatcher(),
            onPiece: { piece in try MainActor.assumeIsolated { try onPiece(piece) } })
    }

    /// Creates a data source for a plain `GET`, whose `onPiece` runs on the main actor. Otherwise behaves as the form
    /// with a dispatcher.
    public convenience init(
        _ url: URL, bufferByteCount: Int = 1 << 18, pauseByteCount: Int64 = 1 << 26,
        options: TransferOptions = .init(), session: TransferSession = .shared,
        on _: MainActor.Type, onPiece: @escaping @MainActor @Sendable (Data) throws -> Void
    ) {
        self.init(
            URLRequest(url: url), bufferByteCount: bufferByteCount, pauseByteCount: pauseByteCount,
            options: options, session: session, on: MainActor.self, onPiece: onPiece)
    }

    deinit {
        // Never requested, or released with its queue.
        end(with: .failure(DeferredError.abandoned))
    }

    /// Starts the transfer. A subclass that overrides this calls `super`.
    open override func execute() throws {
        buffer.setOnRoom { [weak self] in self?.unpause() }
        state.withLock { $0.calls.take() }?.begin { [weak self] in self?.callsDidEnd($0) }
        try transfer(into: { StreamSink(buffer, for: $0) { [weak self] in self?.resolveHead($0) } }) {
            [self] response, sink in
            let result = response.map { Summary(response: sink.response ?? $0, byteCount: sink.byteCount) }
            if case .success(let summary) = result { state.withLock { $0.summary = summary } }
            end(with: result)
            return deliversCalls ? nil : try result.get()
        }
    }

    /// The last call has returned, or one has thrown, or there will be none.
    private func callsDidEnd(_ error: (any Error)?) {
        let summary = state.withLock { $0.summary }
        if let result = error.map(Result.failure) ?? summary.map(Result.success) { finish(with: result) }
    }

    final override func didRequest(_ request: Deferred<Summary>) {
        if !deliversCalls { buffer.note(request) }
    }

    final override func didDecide(_ outcome: Result<Summary, any Error>) {
        super.didDecide(outcome)
        end(with: outcome)
    }

    /// Ends the body and the head.
    private func end(with result: Result<Summary, any Error>) {
        switch result {
        case .success(let summary):
            resolveHead(summary.response)
            buffer.end(nil)
        case .failure(let error):
            buffer.end(error)
            // Handled here, so that nothing is reported where only the request is used.
            headSource.deferred.fail { _ in }
            state.withLock { $0.head.take() }?.reject(error)
        }
    }

    private func resolveHead(_ response: HTTPURLResponse) {
        state.withLock { $0.head.take() }?.resolve(response)
    }
}

extension StreamDataSource {
    /// The body of an answer, in pieces as they come.
    ///
    /// For one consumer: several loops would each get some of the pieces.
    public struct Body: AsyncSequence, Sendable {
        fileprivate let buffer: StreamBuffer
        fileprivate let cancel: @Sendable () -> Void

        /// Returns an iterator. When it is released before the end, the transfer is cancelled.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

        /// Iterates over the pieces.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private let loop: Loop
            private var batch: ArraySlice<Data> = []

            fileprivate init(_ body: Body) { loop = Loop(body) }

            /// Returns the next piece, which is not empty, or nil at the end of the body.
            ///
            /// - Throws: What the transfer fails with; `CancellationError` if the Task is cancelled, which cancels the
            ///   transfer.
            public mutating func next() async throws -> Data? {
                if batch.isEmpty { batch = try await loop.body.nextBatch()[...] }
                // Checked again after the wait: a cancel may have come since the pieces were taken, and no
                // piece is delivered after it.
                if !batch.isEmpty {
                    if Task.isCancelled { loop.body.cancel() }
                    if Task.isCancelled || loop.body.buffer.isCancelled { throw CancellationError() }
                }
                return batch.popFirst()
            }
        }

        /// Cancels the transfer when it is released, unless that has ended.
        private final class Loop: Sendable {
            let body: Body

            init(_ body: Body) { self.body = body }

            deinit { if !body.buffer.hasEnded { body.cancel() } }
        }

        /// Returns the pieces that have come; none at the end.
        private func nextBatch() async throws -> [Data] {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    buffer.take { [buffer] taken in
                        if case .failure = taken { buffer.handleFailure() }
                        continuation.resume(with: taken)
                    }
                }
            } onCancel: {
                cancel()
            }
        }
    }
}
