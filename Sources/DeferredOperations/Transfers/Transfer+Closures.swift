internal import Deferred
internal import Foundation

/// Calls what is the user's: the closures that decide about a transfer, its timers and its progress. Without
/// the lock; the closures on the transfer's queue, or on one of its own for verification.
extension Transfer {
    /// Runs a check of the user's on `queue`.
    func check(on queue: DispatchQueue, _ round: Int, _ body: @escaping @Sendable () throws -> Void) {
        queue.async { [self] in
            var failure: (any Error)?
            do { try body() } catch { failure = error }
            handle(.checked(failure), of: round)
        }
    }

    /// Notifies the sink of the head of the accepted answer.
    func accept(_ response: HTTPURLResponse, _ core: inout Core) {
        guard let onHead = core.sink.onHead else { return }
        queue.async { [self] in
            if self.core.withLock({ !$0.machine.hasEnded }) { onHead(response) }
        }
    }

    /// Calls a closure of the user's, and waits for the Deferred that it returns.
    func ask(_ round: Int, _ question: @escaping @Sendable () throws -> Deferred<URLRequest?>) {
        queue.async { [self] in
            // Only the attached link is kept, and cancelled: a handle could complete the answer, and retained here it
            // would keep one that nobody else can complete from being abandoned (A1).
            let consumer = Deferred<URLRequest?>(following: question).both {
                [self] (result: Result<URLRequest?, any Error>) -> Void in
                handle(.answered(result), of: round)
            }
            let isWanted = core.withLock { core in
                guard core.machine.round == round else { return false }
                core.question = consumer
                return true
            }
            if !isWanted { consumer.cancel() }
        }
    }

    // MARK: Time

    func limit(to total: Duration, _ timer: any DelayedDispatcher) {
        keep(timer.dispatch(after: total) { [weak self] in self?.handle(.limitPassed(total)) }, at: 1)
    }

    func listen(for silence: Duration, _ timer: any DelayedDispatcher) {
        let next = timer.dispatch(after: silence / Machine.silenceTicks) { [weak self] in
            guard let self else { return }
            handle(.tick(isHeldUp: session.delayedCalls.withLock { $0 > 0 }))
            if core.withLock({ !$0.machine.hasEnded }) { listen(for: silence, timer) }
        }
        keep(next, at: 0)
    }

    /// Remembers a timer in place of another, unless the transfer has ended meanwhile. Both are the user's: what
    /// is cancelled or released, is so without the lock.
    private func keep(_ timer: any DelayedWork, at index: Int) {
        let (isWanted, previous) = core.withLock { core -> (Bool, (any DelayedWork)?) in
            if core.machine.hasEnded { return (false, nil) }
            defer { core.timers[index] = timer }
            return (true, core.timers[index])
        }
        if !isWanted { timer.cancel() }
        _ = consume previous
    }

    // MARK: Progress

    /// The shortest time between two reports: there may be tens of thousands of pieces in a second.
    private static let reportInterval = Duration.milliseconds(20)

    /// Has `onProgress` called, unless a call is pending.
    func reportProgress(_ core: inout Core) {
        guard let onProgress = core.machine.options.onProgress, !core.isReporting else { return }
        core.isReporting = true
        let report: @Sendable () -> Void = { [self] in
            let progress = self.core.withLock { core -> TransferProgress? in
                core.isReporting = false
                core.reported = TransferMetrics.now
                return core.machine.hasEnded ? nil : core.machine.progress
            }
            if let progress { onProgress(progress) }
        }
        let pause = core.reported.map { $0 + Self.reportInterval - TransferMetrics.now } ?? .zero
        queue.asyncAfter(deadline: .now() + max(0, pause / .seconds(1)), execute: report)
    }
}
