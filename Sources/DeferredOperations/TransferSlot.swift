internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The transfer of a data source while there is one, and its times after that.
///
/// Sound as `@unchecked Sendable`: the variables are touched only under `lock`.
final class TransferSlot: @unchecked Sendable {
    private let lock = NSLock()
    private var transfer: Transfer?
    private var lastMetrics = TransferMetrics()
    private var isStopped = false

    var metrics: TransferMetrics {
        let (current, last) = lock.withLock { (transfer, lastMetrics) }
        return current?.metrics ?? last
    }

    /// Starts the transfer that `make` gives, unless this has been stopped. `make` may write files: `stop()`
    /// waits for it.
    ///
    /// - Parameter completion: Told the outcome, on the transfer's queue; not if it is stopped.
    func run(
        _ make: () throws -> Transfer?, requestedAt: ContinuousClock.Instant?,
        completion: @escaping @Sendable (Result<HTTPURLResponse, any Error>) -> Void
    ) rethrows {
        let made = try lock.withLock { () -> Transfer? in
            if !isStopped { transfer = try make() }
            return transfer
        }
        made?.start(requestedAt: requestedAt) { [self] outcome, metrics in
            // In this order: a cancel that comes before the outcome is taken still finds what to stop.
            completion(outcome)
            empty(metrics)
        }
    }

    /// When this returns nothing more is written, and what was has gone.
    func stop() {
        let stopped = lock.withLock {
            isStopped = true
            return transfer
        }
        guard let stopped else { return }
        stopped.stop()
        empty(stopped.metrics)
    }

    private func empty(_ metrics: TransferMetrics) {
        let emptied = lock.withLock {
            lastMetrics = metrics
            return transfer.take()
        }
        _ = consume emptied
    }
}
