internal import Deferred

#if canImport(FoundationNetworking)
internal import Foundation
#else
public import Foundation
#endif

// Sound as `@unchecked Sendable`: its properties are constants, and what changes is behind the lock of `current`.
/// The superclass of ``URLDataSource``, ``JSONDataSource``, ``DownloadDataSource`` and ``StreamDataSource``: an HTTP
/// transfer as an operation. It has no initializer for others.
open class TransferDataSource<Value: Sendable>: ConcurrentDataSource<Value>, @unchecked Sendable {
    /// The request, as passed to the initializer.
    public let urlRequest: URLRequest
    /// The options of the transfer.
    public let options: TransferOptions
    let session: TransferSession
    /// The transfer while there is one, and its metrics after that.
    private let current = Locked<(transfer: Transfer?, metrics: TransferMetrics)>((nil, .init()))

    init(_ request: URLRequest, options: TransferOptions, session: TransferSession) {
        urlRequest = request
        self.options = options
        self.session = session
        super.init()
    }

    /// When things happened; complete once the Deferred has ended.
    public final var metrics: TransferMetrics {
        let (transfer, last) = current.withLock { $0 }
        return transfer?.metrics ?? last
    }

    /// Does nothing. A subclass may override it; it is called after a cancel has stopped the transfer.
    open override func stop() {}

    final override var host: String? { urlRequest.url?.host?.lowercased() }

    override func didDecide(_ outcome: Result<Value, any Error>) {
        // A success of a subclass's own needs no transfer. One of the transfer's may have put a file into place.
        if case .success = outcome, current.withLock({ $0.transfer })?.isOver == true { return }
        stopTransfer()
    }

    /// Stops the transfer, perhaps while ``execute()`` is running, and removes what it has written.
    private func stopTransfer() {
        guard let stopped = current.withLock({ $0.transfer }) else { return }
        stopped.end(by: .stop)
        forget(stopped)
    }

    /// Starts a transfer into the sink that `sink` returns, and ends the operation with what `value` returns or throws.
    ///
    /// - Parameters:
    ///   - sink: Receives the request that is sent.
    ///   - value: Runs on the transfer's queue.
    /// - Throws: ``DataSourceError/invalidRequest(_:reason:)`` if the request can't be sent, or not by this session.
    final func transfer<Sink: TransferSink>(
        into sink: (URLRequest) throws -> Sink,
        value: @escaping @Sendable (HTTPURLResponse, Sink) throws -> Value
    ) throws {
        let request = try urlRequest.checked(options, session)
        let sink = try sink(request)
        let transfer = Transfer(request, options, session, into: sink)
        current.withLock { $0.transfer = transfer }
        // An outcome decided before this line is noticed here; a later one finds the transfer.
        if isDecided { return stopTransfer() }
        transfer.start(requestedAt: requestedAt) { [self] result in
            // `current` is cleared after the outcome is delivered: a cancel before that finds a transfer to stop.
            transferDidEnd(with: Result { try value(try result.get(), sink) })
            forget(transfer)
        }
    }

    /// Ends the operation, with what the transfer has ended with.
    func transferDidEnd(with result: Result<Value, any Error>) {
        // A file may be in place: it is removed if the operation was cancelled in the very moment.
        if !finish(with: result) { stopTransfer() }
    }

    private func forget(_ transfer: Transfer) {
        let metrics = transfer.metrics
        current.withLock { $0 = (nil, metrics) }
    }

    /// Continues a transfer that has paused.
    final func unpause() { current.withLock { $0.transfer }?.handle(.room) }
}
