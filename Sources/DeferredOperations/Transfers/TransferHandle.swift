internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Refers to the transfer of a data source while there is one, and keeps its metrics after that.
///
/// Sound as `@unchecked Sendable`: the variables are touched only under `lock`.
final class TransferHandle: @unchecked Sendable {
    private let lock = NSLock()
    private var transfer: Transfer?
    private var lastMetrics = TransferMetrics()
    private var isStopped = false

    var metrics: TransferMetrics {
        let (current, last) = lock.withLock { (transfer, lastMetrics) }
        return current?.metrics ?? last
    }

    /// Starts the transfer that `make` returns, unless this has been stopped; returns whether there is one. `make` may write
    /// files: `stop()` waits for it.
    ///
    /// - Parameter completion: Receives the outcome, on the transfer's queue or a global one; not called if the transfer is stopped.
    func run(
        _ make: () throws -> Transfer?, requestedAt: ContinuousClock.Instant?,
        completion: @escaping @Sendable (Result<HTTPURLResponse, any Error>) -> Void
    ) rethrows -> Bool {
        let made = try lock.withLock { () -> Transfer? in
            if !isStopped { transfer = try make() }
            return transfer
        }
        guard let made else { return false }
        made.start(requestedAt: requestedAt) { [self] outcome, metrics in
            // In this order: a cancel that precedes the outcome still finds a transfer to stop.
            completion(outcome)
            empty(metrics)
        }
        return true
    }

    /// Stops the transfer. When this returns nothing more is written, and what was written has been removed.
    func stop() {
        let stopped = lock.withLock {
            isStopped = true
            return transfer
        }
        guard let stopped else { return }
        stopped.stop()
        empty(stopped.metrics)
    }

    /// Ends the transfer because a time limit has passed. Returns false if there was none: none will be started.
    func timeOut(_ limit: DataSourceError.TimeLimit) -> Bool {
        let current = lock.withLock {
            if transfer == nil { isStopped = true }
            return transfer
        }
        current?.timeOut(limit)
        return current != nil
    }

    /// Continues a transfer that has paused.
    func unpause() {
        lock.withLock { transfer }?.unpause()
    }

    private func empty(_ metrics: TransferMetrics) {
        let emptied = lock.withLock {
            lastMetrics = metrics
            return transfer.take()
        }
        _ = consume emptied
    }
}
