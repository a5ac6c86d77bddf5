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
    /// The transfer until the outcome is decided, and its metrics after that.
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

    /// Releases the transfer, perhaps while ``execute()`` is running. Stops it, and removes what it has written, unless
    /// it has succeeded.
    override func didDecide(_ outcome: Result<Value, any Error>) {
        guard let transfer = current.withLock({ $0.transfer }) else { return }
        // A success of a subclass's own needs no transfer. One of the transfer's may have put a file into place.
        let isNeeded = if case .success = outcome { transfer.isOver } else { false }
        if !isNeeded { transfer.end(by: .stop) }
        let metrics = transfer.metrics
        current.withLock { $0 = (nil, metrics) }
    }

    /// Starts a transfer into the sink that `sink` returns, and ends the operation with what `value` returns or throws.
    ///
    /// - Parameters:
    ///   - sink: Receives the request that is sent.
    ///   - value: Receives the outcome of the transfer, on its queue. Returns nil if the operation ends later.
    /// - Throws: ``DataSourceError/invalidRequest(_:reason:)`` if the request can't be sent, or not by this session.
    final func transfer<Sink: TransferSink>(
        into sink: (URLRequest) throws -> Sink,
        value: @escaping @Sendable (Result<HTTPURLResponse, any Error>, Sink) throws -> Value?
    ) throws {
        let request = try urlRequest.checked(options, session)
        let sink = try sink(request)
        let transfer = Transfer(request, options, session, into: sink)
        current.withLock { $0.transfer = transfer }
        // An outcome decided before this line is noticed here; `didDecide` of a later one finds the transfer.
        if isDecided { return current.withLock { $0.transfer = nil } }
        transfer.start(requestedAt: requestedAt) { [self] result in
            // A file may be in place: if the operation is cancelled in this very moment, `didDecide` removes it.
            do {
                if let value = try value(result, sink) { decide(.success(value)) }
            } catch {
                decide(.failure(error))
            }
        }
    }

    /// Continues a transfer that has paused.
    final func unpause() { current.withLock { $0.transfer }?.handle(.room) }
}
