internal import Deferred
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Time limits and progress.
extension Transfer {
    /// The silence allowed is counted in so many ticks of the clock: nothing has to be done for every piece
    /// of the body but to set a flag.
    private static let silenceTicks = 8

    func startTimers(for request: URLRequest) {
        if let total = options.totalTimeout {
            let timer = options.timer.dispatch(after: total) { [weak self] in self?.timeOut(.total(total)) }
            keep(timer, as: \.totalTimer)
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
        keep(timer, as: \.silenceTimer)
    }

    private func tick(_ silence: Duration) {
        let isHeldUp = TransferPacer.isDelaying(session)
        // Decided and carried out in one critical section: no data, and no request to a mirror, comes in between.
        let goesOn = lock.withLock {
            guard state.phase == .running else { return false }
            state.silentTicks = state.wasHeard || isHeldUp || state.waitsForUser ? 0 : state.silentTicks + 1
            state.wasHeard = false
            if state.silentTicks >= Self.silenceTicks {
                fail(DataSourceError.timedOut(url, .silence(silence)))
            }
            // A mirror that is asked now may be silent just as long.
            return state.phase == .running
        }
        if goesOn { listen(for: silence) }
    }

    /// Ends the transfer because the limit for the whole of it has passed.
    func timeOut(_ limit: DataSourceError.TimeLimit) {
        lock.withLock {
            if state.phase == .idle { state.passedLimit = limit }
            guard state.phase == .running else { return }
            fail(DataSourceError.timedOut(url, limit))
        }
    }

    /// Remembers a timer in place of another, unless the transfer has ended meanwhile. Both are the user's: what
    /// is cancelled or released, is so outside the lock.
    private func keep(_ timer: any DelayedWork, as place: ReferenceWritableKeyPath<State, (any DelayedWork)?>)
    {
        let (isWanted, previous) = lock.withLock { () -> (Bool, (any DelayedWork)?) in
            guard state.phase == .running else { return (false, nil) }
            let previous = state[keyPath: place]
            state[keyPath: place] = timer
            return (true, previous)
        }
        if !isWanted { timer.cancel() }
        _ = consume previous
    }

    // MARK: Progress

    /// The shortest time between two reports: there may be tens of thousands of pieces in a second.
    private static let reportInterval = Duration.milliseconds(20)

    /// Has `onProgress` called, unless a call is pending. Under the lock.
    func reportProgress() {
        guard let onProgress = options.onProgress, !state.isReporting else { return }
        state.isReporting = true
        let report: @Sendable () -> Void = { [self] in
            let progress = lock.withLock { () -> TransferProgress? in
                state.isReporting = false
                state.reported = .now
                return state.phase == .running ? state.progress : nil
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
