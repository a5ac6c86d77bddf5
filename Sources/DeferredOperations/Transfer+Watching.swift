internal import Deferred
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// How long it takes, and how far it is.
extension Transfer {
    /// The silence allowed is counted in so many ticks of the clock: nothing has to be done for every piece
    /// of the body but to set a flag.
    private static let silenceTicks = 8

    func startTimers(for request: URLRequest) {
        if let total = options.totalTimeout {
            let timer = options.timer.dispatch(after: total) { [weak self] in self?.timeOut(.total(total)) }
            keep(timer) { $0.totalTimer = timer }
        }
        if let silence = Self.silence(options, request) { listen(for: silence) }
    }

    /// How long a silence is allowed; nil for any.
    private static func silence(_ options: TransferOptions, _ request: URLRequest) -> Duration? {
        if let silence = options.silenceTimeout { return silence }
        let interval = request.timeoutInterval
        guard interval.isFinite, interval < 1e9 else { return nil }
        return .seconds(interval > 0 ? interval : 60)
    }

    private func listen(for silence: Duration) {
        let timer = options.timer.dispatch(after: silence / Self.silenceTicks) { [weak self] in
            self?.tick(silence)
        }
        keep(timer) { $0.silenceTimer = timer }
    }

    private func tick(_ silence: Duration) {
        let goesOn = lock.withLock {
            guard state.stage == .running else { return false }
            // Whoever is asked for credentials may take as long as they like.
            state.silentTicks = state.wasHeard || state.challenge != nil ? 0 : state.silentTicks + 1
            state.wasHeard = false
            return state.silentTicks < Self.silenceTicks
        }
        if goesOn { listen(for: silence) } else { timeOut(.silence(silence)) }
    }

    private func timeOut(_ limit: DataSourceError.TimeLimit) {
        lock.withLock {
            guard state.stage == .running else { return }
            conclude(.failure(DataSourceError.timedOut(url, limit)))
        }
    }

    /// Remembers a timer, unless the transfer has ended meanwhile.
    private func keep(_ timer: any DelayedWork, _ remember: (inout State) -> Void) {
        let isWanted = lock.withLock {
            guard state.stage == .running else { return false }
            remember(&state)
            return true
        }
        if !isWanted { timer.cancel() }
    }

    // MARK: Progress

    /// How long it is at least from one report to the next: there may be tens of thousands of pieces in a
    /// second.
    private static let reportInterval = Duration.milliseconds(20)

    /// Has the user told how far the transfer is, unless that is about to happen anyway. Under the lock.
    func reportProgress() {
        guard let onProgress = options.onProgress, !state.isReporting else { return }
        state.isReporting = true
        let report: @Sendable () -> Void = { [self] in
            let progress = lock.withLock { () -> TransferProgress? in
                state.isReporting = false
                state.reported = .now
                return state.stage == .running ? state.progress : nil
            }
            if let progress { onProgress(progress) }
        }
        let pause = state.reported.map { $0 + Self.reportInterval - .now } ?? .zero
        if pause > .zero {
            queue.asyncAfter(deadline: .now() + pause / .seconds(1), execute: report)
        } else {
            queue.async(execute: report)
        }
    }

    /// On the transfer's queue.
    func reportFinalProgress() {
        guard let onProgress = options.onProgress else { return }
        onProgress(lock.withLock { state.progress })
    }
}
