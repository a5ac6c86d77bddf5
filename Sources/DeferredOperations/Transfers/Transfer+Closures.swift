internal import Deferred
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Calls what is the user's: the closures that decide about a transfer, its timers and its progress. Without
/// the lock; the closures on the transfer's queue, or on one of its own for verification.
extension Transfer {
    /// Runs a check of the user's on `queue`, and has the machine handle the event that its result is.
    func check(
        on queue: DispatchQueue, _ round: Int, _ event: @escaping @Sendable ((any Error)?) -> Machine.Event,
        _ body: @escaping @Sendable () throws -> Void
    ) {
        queue.async { [self] in
            var failure: (any Error)?
            do { try body() } catch { failure = error }
            handle(event(failure), of: round)
        }
    }

    /// Notifies the sink of the head of the accepted answer.
    func accept(_ response: HTTPURLResponse, _ core: inout Core) {
        guard let onHead = core.sink.onHead else { return }
        queue.async { [self] in
            if self.core.withLock({ !$0.machine.state.hasEnded }) { onHead(response) }
        }
    }

    func ask(about redirect: TransferRedirect, _ core: inout Core) {
        guard let onRedirect = core.machine.options.onRedirect else { return }
        ask(core.machine.round) { try onRedirect(redirect).map { .redirect($0) } }
    }

    func ask(about challenge: AuthenticationChallenge, _ core: inout Core) {
        guard let onChallenge = core.machine.options.onChallenge else { return }
        ask(core.machine.round) { try onChallenge(challenge).map { .credentials($0) } }
    }

    /// Calls a closure of the user's, and waits for the Deferred that it returns.
    private func ask(_ round: Int, _ question: @escaping @Sendable () throws -> Deferred<Machine.Answered>) {
        queue.async { [self] in
            // Only the attached link is kept, and cancelled: a handle could complete the answer, and retained here it
            // would keep one that nobody else can complete from being abandoned (A1).
            let consumer = Deferred<Machine.Answered>(following: question).both {
                [self] (result: Result<Machine.Answered, any Error>) -> Void in
                let cancel = core.withLock { core -> (@Sendable () -> Void)? in
                    guard core.machine.round == round else { return nil }
                    // Taken before, so that a settled answer is not cancelled.
                    let cancel = core.cancelQuestion.take()
                    let answered: Machine.Answered
                    do { answered = try result.get() } catch { answered = .failed(error) }
                    run(.answered(answered), of: round, &core)
                    return cancel
                }
                // Its captures are released without the lock.
                _ = consume cancel
            }
            let isWanted = core.withLock { core in
                guard core.machine.round == round else { return false }
                core.cancelQuestion = { consumer.cancel() }
                return true
            }
            if !isWanted { consumer.cancel() }
        }
    }

    // MARK: Time

    func startTimers(_ options: TransferOptions, _ silence: Duration?) {
        if let total = options.totalTimeout {
            let timer = options.timer.dispatch(after: total) { [weak self] in
                self?.handle(.limitPassed(total))
            }
            keep(timer, at: 1)
        }
        if let silence { listen(for: silence, options.timer) }
    }

    private func listen(for silence: Duration, _ timer: any DelayedDispatcher) {
        let next = timer.dispatch(after: silence / Machine.silenceTicks) { [weak self] in
            guard let self else { return }
            handle(.tick(isHeldUp: TransferPacer.isDelaying(session)))
            if core.withLock({ !$0.machine.state.hasEnded }) { listen(for: silence, timer) }
        }
        keep(next, at: 0)
    }

    /// Remembers a timer in place of another, unless the transfer has ended meanwhile. Both are the user's: what
    /// is cancelled or released, is so without the lock.
    private func keep(_ timer: any DelayedWork, at index: Int) {
        let (isWanted, previous) = core.withLock { core -> (Bool, (any DelayedWork)?) in
            if core.machine.state.hasEnded { return (false, nil) }
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
                core.reported = CollectedMetrics.now
                return core.machine.state.hasEnded ? nil : core.machine.progress
            }
            if let progress { onProgress(progress) }
        }
        let pause = core.reported.map { $0 + Self.reportInterval - CollectedMetrics.now } ?? .zero
        queue.asyncAfter(deadline: .now() + max(0, pause / .seconds(1)), execute: report)
    }
}
