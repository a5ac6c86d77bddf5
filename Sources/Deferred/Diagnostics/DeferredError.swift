/// The errors that the library itself produces.
///
/// A cancelled Deferred fails with Swift's `CancellationError`. Errors that callbacks throw are passed on unchanged.
public enum DeferredError: Error, Hashable, Sendable {
    /// Nothing is left that could complete the Deferred: every handle and every ``Deferred/Resolver`` that could was
    /// released, or a dispatcher released a callback without running it.
    case abandoned
    /// A callback returned a Deferred that waits, perhaps through others, for that same callback's result.
    case cycle
    /// ``DeferredList/first(fileID:line:)`` or ``DeferredList/firstSettled(fileID:line:)`` was called on an empty list.
    case empty
    /// A ``DeferredQueue`` was finished: it accepts no element, and none is left in it.
    case finished
    /// The time limit passed before the Deferred was settled.
    case timedOut
    /// A ``DeferredQueue`` is full: `size` elements wait in it.
    case queueOverflow(size: Int)
    /// A ``DeferredQueue`` is empty, and `backlog` consumers already wait for an element.
    case queueUnderflow(backlog: Int)
    /// ``Deferred/wait(timeout:fileID:line:)`` was called, at the given location, on the thread that must run a
    /// callback before the wait can end.
    case wouldDeadlock(at: DeferredDiagnostic.Location)
    /// An argument is invalid; the text says which one and why.
    case invalidArgument(String)

    /// Which errors an errback receives, where it is not one type of error: `fail(.exceptCancellation) { … }`.
    @frozen
    public enum Selection: Sendable {
        /// All errors but a `CancellationError`, which passes on unchanged.
        case exceptCancellation
    }
}

extension DeferredError: CustomStringConvertible {
    /// Describes the error.
    public var description: String {
        switch self {
        case .abandoned: "abandoned: nothing is left that could complete this Deferred"
        case .cycle: "cycle: a callback returned a Deferred that waits for that callback's own result"
        case .empty: "empty: first() of an empty list"
        case .finished:
            "finished: the queue has ended; it accepts no further elements, and none is left in it"
        case .timedOut: "timed out"
        case .queueOverflow(let size): "queue overflow: the queue is full, with a size of \(size)"
        case .queueUnderflow(let backlog):
            "queue underflow: the queue is empty, and its backlog of \(backlog) is taken"
        case .wouldDeadlock(let place):
            "would deadlock: the wait at \(place) is on the thread that has to run a callback before that can end"
        case .invalidArgument(let reason): "invalid argument: \(reason)"
        }
    }
}
