import Deferred
import DeferredOperations

/// What is tried again, and when.
enum Retrying {
    /// Whether an error may have passed by the next try: the server is busy or broken, or the connection is.
    static func mayPass(_ error: any Error) -> Bool {
        switch error as? DataSourceError {
        case .status(let failure):
            failure.code == 408 || failure.code == 429 || (500..<600).contains(failure.code)
        case .connectionLost, .truncated, .timedOut: true
        default: false
        }
    }

    /// Half a second, then twice as long each time up to half a minute, less up to a third so that many do
    /// not come back at once; but not before the server wants to be asked again, if it says when, within
    /// reason.
    static func delay(afterAttempt attempt: Int, _ error: any Error) -> Duration {
        let longest = min(30, 0.5 * Double(1 << min(attempt - 1, 10)))
        let delay = Duration.seconds(longest * Double.random(in: 2 / 3...1))
        guard case DataSourceError.status(let failure) = error, let wanted = failure.retryAfter else {
            return delay
        }
        return max(delay, min(wanted, .seconds(300)))
    }
}
