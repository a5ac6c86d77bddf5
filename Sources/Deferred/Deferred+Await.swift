internal import Synchronization

extension Deferred {
    /// The value, when it is there; throws the error if the Deferred fails.
    ///
    /// The Task is a consumer of this Deferred, and so handles its failure. If the Task is cancelled while it
    /// waits, this throws `CancellationError` at once, whatever becomes of the Deferred, and what this
    /// Deferred waits for is cancelled if nobody else consumes it (as with ``cancel()`` on a position of its
    /// own).
    @inlinable
    public nonisolated(nonsending) var value: Value {
        get async throws { try await result.get() }
    }

    /// The outcome, when it is there; see ``value``.
    @inlinable
    public nonisolated(nonsending) var result: Result<Value, any Error> {
        get async {
            if link.lookIfIdle() { return link.content.result() }
            guard let awaiting = await link.awaitOutcome() else { return .failure(CancellationError()) }
            return awaiting.outcome.result()
        }
    }
}

extension Link {
    /// Waits for the outcome, and gives who has it; nil if the Task was cancelled first (C6).
    @usableFromInline
    nonisolated(nonsending) func awaitOutcome() async -> Awaiting? {
        let awaiting = Awaiting()
        let hasOutcome = await withTaskCancellationHandler {
            await withUnsafeContinuation { awaiting.start(self, $0) }
        } onCancel: {
            awaiting.cancel()
        }
        return hasOutcome ? awaiting : nil
    }
}

/// A Task that waits for a link: whoever comes first, the outcome or the Task's cancel, resumes it.
///
/// Sound as `@unchecked Sendable`: `continuation` and `consumer` are written by `start` before it moves
/// `state` on from `new`, and read only by who has seen that; `outcome` is written before the Task is
/// resumed, and read by the Task.
@usableFromInline
final class Awaiting: @unchecked Sendable {
    private enum State {
        static let new: UInt8 = 0
        /// The consumer is being attached, and is not to be cancelled before it is.
        static let attaching: UInt8 = 1
        static let waiting: UInt8 = 2
        static let resumed: UInt8 = 3
        static let cancelled: UInt8 = 4
    }

    private let state = Atomic(State.new)
    private var continuation: UnsafeContinuation<Bool, Never>?
    private var consumer: Link?
    @usableFromInline private(set) var outcome = Link.Content.none

    fileprivate func start(_ link: Link, _ continuation: UnsafeContinuation<Bool, Never>) {
        let consumer = Link(.waiting, .step { [self] in finish($0) }, link.made.of(.awaiting))
        self.continuation = continuation
        self.consumer = consumer
        // Cancelled before it came here: a consumer that cancels all the same.
        if !move(from: State.new, to: State.attaching) { continuation.resume(returning: false) }
        link.attach(consumer)
        if !move(from: State.attaching, to: State.waiting),
            state.load(ordering: .acquiring) == State.cancelled
        {
            withdraw(consumer)
        }
    }

    private func move(from old: UInt8, to new: UInt8) -> Bool {
        state.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
    }

    private func finish(_ outcome: borrowing Link.Content) -> Link.Content {
        let isAwaited =
            move(from: State.waiting, to: State.resumed) || move(from: State.attaching, to: State.resumed)
        if isAwaited {
            self.outcome = outcome.copy()
            continuation?.resume(returning: true)
        }
        return .value(())
    }

    fileprivate func cancel() {
        let before = state.exchange(State.cancelled, ordering: .acquiringAndReleasing)
        guard before == State.attaching || before == State.waiting else { return }
        continuation?.resume(returning: false)
        if before == State.waiting, let consumer { withdraw(consumer) }
    }

    /// It handles nothing any more (U1), and cancels as a consumer (C3).
    private func withdraw(_ consumer: Link) {
        consumer.goOnConsuming()
        consumer.cancel()
    }
}
