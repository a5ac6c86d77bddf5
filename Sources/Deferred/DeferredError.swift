/// What a Deferred fails with of its own accord.
///
/// A cancelled Deferred fails with Swift's `CancellationError`, and what a callback throws comes as it is.
public enum DeferredError: Error, Hashable, Sendable {
    /// Nothing is left that could fire the Deferred: every handle and every ``Resolver`` that could has gone,
    /// or a dispatcher let go of a callback without running it.
    case abandoned
    /// A callback returned a Deferred that waits, perhaps through others, for that same callback's result.
    case cycle
    /// The first result of an empty ``DeferredList`` was asked for.
    case empty
    /// The time given for an outcome passed without one.
    case timedOut
    /// A ``DeferredQueue`` is full: `size` elements wait in it.
    case queueOverflow(size: Int)
    /// A ``DeferredQueue`` is empty, and `backlog` already wait for an element.
    case queueUnderflow(backlog: Int)
    /// ``Deferred/wait(timeout:fileID:line:)`` was called, at the place given, on the thread that has to run
    /// something first.
    case wouldDeadlock(at: DeferredDiagnostic.Location)
    /// An argument that cannot be meant, and what is wrong with it.
    case invalidArgument(String)
}

extension DeferredError: CustomStringConvertible {
    /// The error in words.
    public var description: String {
        switch self {
        case .abandoned: "abandoned: nothing is left that could fire this Deferred"
        case .cycle: "cycle: a callback returned a Deferred that waits for that callback's own result"
        case .empty: "empty: the list has no Deferred whose result could be the first"
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
