internal import Deferred
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The transfer of a data source while there is one, and its times after that.
final class TransferSlot: Sendable {
    private struct Contents {
        var transfer: Transfer?
        var metrics = TransferMetrics()
    }

    private let contents = Guarded(Contents())

    var metrics: TransferMetrics {
        let (transfer, metrics) = contents.withLock { ($0.transfer, $0.metrics) }
        return transfer?.metrics ?? metrics
    }

    /// - Parameter completion: Told the outcome, on the transfer's queue; not if it is stopped.
    func run(
        _ transfer: Transfer, requestedAt: ContinuousClock.Instant?,
        completion: @escaping @Sendable (Result<HTTPURLResponse, any Error>) -> Void
    ) {
        contents.withLock { $0.transfer = transfer }
        transfer.start(requestedAt: requestedAt) { [self] outcome, metrics in
            // In this order: a cancel that comes before the outcome is taken still finds what to stop.
            completion(outcome)
            empty(metrics)
        }
    }

    func stop() {
        guard let transfer = contents.withLock({ $0.transfer }) else { return }
        transfer.stop()
        empty(transfer.metrics)
    }

    private func empty(_ metrics: TransferMetrics) {
        let transfer = contents.withLock { contents in
            contents.metrics = metrics
            return contents.transfer.take()
        }
        _ = consume transfer
    }
}
