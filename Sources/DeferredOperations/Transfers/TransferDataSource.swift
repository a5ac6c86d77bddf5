internal import Deferred

#if canImport(FoundationNetworking)
internal import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// The superclass of ``URLDataSource``, ``JSONDataSource``, ``DownloadDataSource`` and ``StreamDataSource``: an HTTP
/// transfer as an operation. It has no initializer for others.
open class TransferDataSource<Value: Sendable>: ConcurrentDataSource<Value>, @unchecked Sendable {
    /// The request, as passed to the initializer.
    public let urlRequest: URLRequest
    /// The options of the transfer.
    public let options: TransferOptions
    let session: TransferSession
    private let handle = TransferHandle()
    private let upload = SpinLocked<TemporaryFile?>(nil)
    private let formLimit = SpinLocked<FormTimeLimit?>(nil)

    init(_ request: URLRequest, options: TransferOptions, session: TransferSession) {
        urlRequest = request
        self.options = options
        self.session = session
        super.init()
    }

    /// When things happened; complete once the Deferred has ended.
    public final var metrics: TransferMetrics { handle.metrics }

    /// Does nothing. A subclass may override it; it is called after a cancel has stopped the transfer.
    open override func stop() {}

    final override var host: String? { urlRequest.url?.host?.lowercased() }

    final override func cutShort() {
        handle.stop()
        removeUpload()
    }

    /// The request with what the options add to it.
    ///
    /// - Throws: ``DataSourceError/invalidRequest(_:reason:)`` if it can't be sent, or not by this session.
    final func checkedRequest() throws -> URLRequest {
        var request = try urlRequest.checked(options)
        if let flaw = session.flaw {
            throw DataSourceError.invalidRequest(request.errorURL, reason: flaw)
        }
        if let form = options.uploadForm {
            request.setValue(form.contentType, forHTTPHeaderField: "Content-Type")
        }
        return request
    }

    /// Starts the transfer of `request` into `sink`, and ends the operation with the result of `outcome`.
    ///
    /// - Parameters:
    ///   - prepare: Called before the transfer starts; returns the request to send, or nil for none.
    ///   - outcome: Runs on the transfer's queue, or on a global one after a failure.
    final func transfer(
        _ request: URLRequest, into sink: any TransferSink,
        prepare: (() throws -> URLRequest?)? = nil,
        outcome: @escaping @Sendable (Result<HTTPURLResponse, any Error>) -> Void
    ) throws {
        var options = options
        if let form = options.uploadForm {
            let file = try TemporaryFile()
            upload.withLock { $0 = file }
            // The limit is for the writing and the transfer together.
            let limit = FormTimeLimit()
            formLimit.withLock { $0 = limit }
            if let total = options.totalTimeout.take() {
                let error = DataSourceError.timedOut(request.errorURL, .total(total))
                limit.start(total, on: options.timer) { [self] in
                    if handle.timeOut(.total(total)) { return }
                    DispatchQueue.global().async { [self] in
                        removeUpload()
                        outcome(.failure(error))
                    }
                }
            }
            do {
                try form.write(to: file, for: request.errorURL) { isCancelled || limit.hasPassed }
            } catch {
                removeUpload()
                if limit.hasPassed, let total = self.options.totalTimeout {
                    throw DataSourceError.timedOut(request.errorURL, .total(total))
                }
                throw error
            }
            options.uploadFile = file.url
        }
        let make = { [options, session] () -> Transfer? in
            guard let request = try prepare == nil ? request : prepare?() else { return nil }
            return Transfer(request, options, session, into: sink)
        }
        var isStarted = false
        // Otherwise nothing else would end the time limit of a form.
        defer { if !isStarted { removeUpload() } }
        isStarted = try handle.run(make, requestedAt: requestedAt) { [self] result in
            removeUpload()
            outcome(result)
        }
    }

    /// Ends the operation with the result in place, or removes that if the operation was cancelled in the very
    /// moment.
    final func finishOrStop(with result: Result<Value, any Error>) {
        if !finish(with: result) { handle.stop() }
    }

    /// Continues a transfer that has paused.
    final func unpause() { handle.unpause() }

    private func removeUpload() {
        upload.withLock { $0.take() }?.remove()
        formLimit.withLock { $0.take() }?.cancel()
    }
}
