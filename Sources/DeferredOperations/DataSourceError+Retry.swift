public import Deferred

#if canImport(FoundationNetworking)
internal import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Decides which requests to repeat, and when: for `Deferred.retry`.
///
/// ```swift
/// Deferred.retry(attempts: 5, delay: .retryAfter(), when: DataSourceError.isWorthRepeating(request)) {
///     URLDataSource(request).request(on: queue)
/// }
/// ```
extension DataSourceError {
    /// Whether the same request may succeed a little later: the server was busy or failed (5xx, 408, 429), or the
    /// connection was refused, lost, silent or ended early.
    public var isTransient: Bool {
        switch self {
        case .status(let failure): [408, 429].contains(failure.code) || 500..<600 ~= failure.code
        case .cannotConnect, .connectionLost, .timedOut, .truncated: true
        default: false
        }
    }

    /// Whether the server cannot have acted on the request: it was not reached, or rejected the request.
    private var wasNotActedOn: Bool {
        switch self {
        case .cannotConnect: true
        case .status(let failure): failure.code == 429
        default: false
        }
    }

    /// Returns a predicate for the errors of `request` after which to repeat it: transient ones; if the request is not
    /// safe to repeat, such as a `POST`, only those after which the server cannot have acted on it.
    public static func isWorthRepeating(_ request: URLRequest) -> @Sendable (any Error) -> Bool {
        let isSafe = request.isSafeToRepeat
        return { error in
            guard let error = error as? DataSourceError else { return false }
            return error.isTransient && (isSafe || error.wasNotActedOn)
        }
    }
}

extension URLRequest {
    /// Whether sending it twice has the same effect as sending it once: true of `GET`, `HEAD`, `PUT`, `DELETE`, `OPTIONS`
    /// and `TRACE`, if the body is not a stream, which can be read only once.
    public var isSafeToRepeat: Bool {
        ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(httpMethod ?? "GET")
            && httpBodyStream == nil
    }
}

extension RetryDelay {
    /// Waits as long as the server asks for (`Retry-After`). If it does not ask, or for less, waits for `first`, then twice
    /// as long each time up to `maximum`, each reduced by up to a half at random.
    ///
    /// - Parameter longest: The limit for the time that the server asks for.
    public static func retryAfter(
        first: Duration = .seconds(1), maximum: Duration = .seconds(60), longest: Duration = .seconds(300),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) -> RetryDelay {
        .custom { attempt, error in
            let grown = min(first * (1 << min(attempt - 1, 30)), maximum) * (1 - 0.5 * random())
            guard case DataSourceError.status(let failure) = error, let wanted = failure.retryAfter else {
                return grown
            }
            return max(grown, min(wanted, longest))
        }
    }
}
