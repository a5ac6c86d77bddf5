public import Dispatch

extension Deferred {
    /// This outcome, if it comes in time; otherwise what came before this position is cancelled, and the
    /// outcome is ``DeferredError/timedOut`` or what `onTimeout` gives.
    ///
    /// ```swift
    /// fetchPage()
    ///     .timeout(.seconds(5))
    ///     .then { show($0) }      // the timer is off: this may take its time
    /// ```
    ///
    /// Expiry is as ``cancel()`` on this position: it reaches what only this position waits for, and nothing
    /// that others consume. If a canceller upstream answers with a result of its own, that counts. A cancel
    /// before the time is up stays a `CancellationError`. The timer is stopped, and lets go of all it held,
    /// as soon as this position has its outcome.
    ///
    /// - Parameters:
    ///   - delay: How long to wait, from now. Zero or less is as soon as possible; a Deferred that has fired is always in time.
    ///   - dispatcher: Keeps the time; on its thread the cancel happens and what follows from it runs.
    ///   - onTimeout: Runs when time is up, on the dispatcher's thread; what it returns or throws is the outcome.
    public func timeout(
        _ delay: Duration, on dispatcher: any DelayedDispatcher = DispatchQueue.global(),
        _ onTimeout: (@Sendable () throws -> Value)? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Value> {
        let timer = Timer()
        let limited: Deferred<Value> = attach(
            nil, DeferredDiagnostic.Location(.timeout, fileID, line)
        ) { input in
            let isInTime = timer.stop()
            guard !isInTime, input.error is CancellationError else {
                return input.copy()
            }
            return .catching {
                guard let onTimeout else { throw DeferredError.timedOut }
                return try onTimeout()
            }
        }
        timer.set(delay, on: dispatcher) { limited.cancel() }
        return limited
    }
}
