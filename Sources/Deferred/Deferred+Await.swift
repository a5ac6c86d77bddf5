extension Deferred {
    /// The value, when it is there; throws the error if the Deferred fails.
    ///
    /// The Task is a consumer of this Deferred, and so handles its failure. If the Task is cancelled while it waits, this
    /// throws `CancellationError` at once, whatever becomes of the Deferred, and what this Deferred waits for is cancelled if
    /// nobody else consumes it (as with ``cancel()`` on a position of its own).
    public var value: Value {
        get async throws { try await outcome().get() }
    }

    /// The outcome, when it is there; see ``value``.
    public var result: Result<Value, any Error> {
        get async { await outcome() }
    }

    private func outcome() async -> Result<Value, any Error> {
        if link.lookIfIdle() { return link.content.result() }
        let awaiting = Awaiting<Value>()
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { awaiting.start(link, $0) }
        } onCancel: {
            awaiting.cancel()
        }
    }
}

/// A Task that waits for a link: whoever comes first, the outcome or the Task's cancel, resumes it.
private final class Awaiting<Value: Sendable>: Sendable {
    private typealias Outcome = Result<Value, any Error>
    private typealias Continuation = UnsafeContinuation<Result<Value, any Error>, Never>

    private enum State {
        case new
        /// The outcome came before the continuation.
        case early(Outcome)
        case waiting(Continuation, Link)
        /// The Task was cancelled before it came to wait.
        case cancelled
        case done
    }

    private let state = Guarded(State.new)

    func start(_ link: Link, _ continuation: UnsafeContinuation<Result<Value, any Error>, Never>) {
        let consumer = link.attach(
            .step { [self] outcome in
                finish(outcome.result())
                return .value(())
            }, link.made)
        let before = state.withLock { state in
            let before = state
            if case .new = before { state = .waiting(continuation, consumer) } else { state = .done }
            return before
        }
        switch before {
        case .early(let outcome):
            continuation.resume(returning: outcome)
        case .cancelled:
            continuation.resume(returning: .failure(CancellationError()))
            consumer.cancel()
        case .new, .waiting, .done:
            break
        }
    }

    private func finish(_ outcome: Outcome) {
        let before = state.withLock { state in
            let before = state
            switch before {
            case .new: state = .early(outcome)
            case .waiting: state = .done
            case .early, .cancelled, .done: break
            }
            return before
        }
        if case .waiting(let continuation, _) = before { continuation.resume(returning: outcome) }
    }

    func cancel() {
        let before = state.withLock { state in
            let before = state
            switch before {
            case .new: state = .cancelled
            case .waiting: state = .done
            case .early, .cancelled, .done: break
            }
            return before
        }
        if case .waiting(let continuation, let consumer) = before {
            continuation.resume(returning: .failure(CancellationError()))
            // It withdraws, and so handles nothing any more (U1).
            consumer.goOnConsuming()
            consumer.cancel()
        }
    }
}
