import Deferred
import Hummingbird
import Logging

/// Exchange rates from a source that is slow and must not be asked too often.
struct Rates: Sendable {
    private let timer: any DelayedDispatcher
    private let limit: Duration
    private let logger: Logger
    private let shared = DeferredCache<String, Int>(keepingFor: .seconds(1))
    private let connections = DeferredSemaphore(2)

    init(timer: any DelayedDispatcher, limit: Duration, logger: Logger) {
        (self.timer, self.limit, self.logger) = (timer, limit, logger)
    }

    /// Callers that ask for one currency at once share a request. No more than two requests are in progress, and one is
    /// cancelled if all of its callers have gone away, or if it takes too long.
    func rate(of currency: String) -> Deferred<Int> {
        shared.value(for: currency) {
            connections.run { ask(for: currency).timeout(limit, timer: timer) }
                .mapError { error in
                    error as? DeferredError == .timedOut
                        ? HTTPError(.gatewayTimeout, message: "no rate in time") : error
                }
                .always { outcome in logger.info("\(currency): \(text(of: outcome))") }
        }
    }

    /// Stands for a request to a server: `slow` takes an hour, others a second.
    private func ask(for currency: String) -> Deferred<Int> {
        logger.info("\(currency): asked for")
        return .after(
            currency == "slow" ? .seconds(3600) : .seconds(1), timer: timer, value: currency.count * 100)
    }

    private func text(of outcome: Result<Int, any Error>) -> String {
        switch outcome {
        case .success(let rate): "is \(rate)"
        case .failure(is CancellationError): "cancelled"
        case .failure(let error): "failed: \(error)"
        }
    }
}
