/// Awaiting the outcome from a Task.
extension Link {
    /// Waits for the outcome, and returns a link that has it; nil if the Task was cancelled first (C6).
    ///
    /// The payload of a link that consumes this one is `awaiting`, with the continuation once the Task is
    /// suspended. The drain loop takes it out for the outcome, the Task's cancellation for a step that does
    /// nothing, each in a critical section of the link's lock. Sound: the continuation is taken out there, or
    /// not put in, since the payload is `awaiting` no more, and so resumed once.
    ///
    /// The Task reads from the link, under its lock, why it was resumed, not from the continuation: a value
    /// that a continuation returns is ordered by the runtime alone, which ThreadSanitizer does not see
    /// where the resume precedes the await.
    @usableFromInline
    nonisolated(nonsending) func awaitOutcome() async -> Link? {
        let awaiting = Link(.waiting, .awaiting(nil), made.of(.awaiting))
        await withTaskCancellationHandler {
            await withUnsafeContinuation { suspend(awaiting, $0) }
        } onCancel: {
            awaiting.cancelAwait()
        }
        return awaiting.isAwaitCancelled ? nil : awaiting
    }

    /// Whether the cancellation of the Task, not an outcome, ended the await: the step that does nothing is
    /// there, or has run.
    var isAwaitCancelled: Bool { locked { payload.kind == .noOp || payload.kind == .none } }

    /// Attaches the link of a Task that is suspended. Stores its continuation; or resumes it if the await has
    /// ended, and cancels in place of a cancellation that came before this.
    func suspend(_ awaiting: Link, _ continuation: UnsafeContinuation<Void, Never>) {
        attach(awaiting)
        let isWaiting = awaiting.locked {
            guard awaiting.payload.kind == .awaiting else { return false }
            awaiting.payload = .awaiting(continuation)
            return true
        }
        if isWaiting { return }
        continuation.resume()
        if awaiting.isAwaitCancelled { awaiting.cancel() }
    }

    /// The Task was cancelled: resumes it, unless it has the outcome. From then on the link handles no
    /// failure (U1), and cancels upstream as a consumer does (C3), once it is attached.
    func cancelAwait() {
        let word = lock()
        guard payload.kind == .awaiting else { return unlock(word) }
        let awaiting = exchangePayload(with: .noOp)
        unlock(word)
        if awaiting.resume() { NestedWork.run(.cancel(of: self)) }
    }
}
