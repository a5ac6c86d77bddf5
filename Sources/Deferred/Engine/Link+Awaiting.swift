/// Awaiting a link from a Task.
extension Link {
    /// Waits for the outcome, and returns a link that has it; nil if the Task was cancelled first (C6).
    ///
    /// The continuation is the payload of a link that consumes this one. The drain loop that notifies the
    /// link, and the Task's cancellation, both take it out in a critical section of the link's lock in which
    /// they find it `waiting`: one of them gets it, and resumes the Task. There is no other state that they
    /// could disagree on.
    ///
    /// The cancellation may come while the link is being attached, when it cannot yet be cancelled. The flags
    /// `awaitCancelled` and `isAttached`, set under the same lock, decide which of the two cancels upstream, so
    /// that it is cancelled once. Sound: each path takes the continuation out under the lock, and resumes it once.
    ///
    /// The Task reads from the link, under its lock, why it was resumed, not from the continuation: a value
    /// that a continuation returns is ordered by the runtime alone, which ThreadSanitizer does not see
    /// where the resume precedes the await.
    ///
    /// | the Task is cancelled | it finds | resumes the Task | cancels upstream |
    /// |---|---|---|---|
    /// | before the continuation is stored | no continuation | `attach(_:resuming:)` | `attach(_:resuming:)` |
    /// | before the link is attached | the continuation | the cancellation | `attach(_:resuming:)` |
    /// | before the outcome | the continuation, `isAttached` | the cancellation | the cancellation |
    /// | after the outcome | another phase | the drain loop | nothing |
    @usableFromInline
    nonisolated(nonsending) func awaitOutcome() async -> Link? {
        let awaiting = Link(.waiting, .none, made.of(.awaiting))
        await withTaskCancellationHandler {
            await withUnsafeContinuation { attach(awaiting, resuming: $0) }
        } onCancel: {
            awaiting.cancelAwait()
        }
        return awaiting.isAwaitCancelled ? nil : awaiting
    }

    /// Whether the cancellation of the Task, not an outcome, ended the await.
    var isAwaitCancelled: Bool { locked { flags.contains(.awaitCancelled) } }

    /// Attaches the link of a Task that waits. Sound: the continuation is resumed once; see `awaitOutcome`.
    func attach(_ awaiting: Link, resuming continuation: UnsafeContinuation<Void, Never>) {
        let isCancelled = awaiting.locked {
            if awaiting.flags.contains(.awaitCancelled) { return true }
            awaiting.payload = .awaiting(continuation)
            return false
        }
        if isCancelled { continuation.resume() }
        attach(awaiting)
        let isToBeCancelled = awaiting.locked {
            awaiting.flags.insert(.isAttached)
            return awaiting.phase == .waiting && awaiting.flags.contains(.awaitCancelled)
        }
        if isToBeCancelled { awaiting.cancel() }
    }

    /// The Task was cancelled: resumes it, unless it has the outcome. From then on the link handles no
    /// failure (U1), and cancels upstream as a consumer does (C3).
    func cancelAwait() {
        var payload = Payload.consume
        let word = lock()
        guard phase == .waiting else { return unlock(word) }
        swap(&payload, &self.payload)
        flags.insert(.awaitCancelled)
        let isAttached = flags.contains(.isAttached)
        unlock(word)
        payload.resume()
        if isAttached { cancel() }
    }
}
