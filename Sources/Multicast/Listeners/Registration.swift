import Deferred

/// A listener with its dispatcher and its priority.
///
/// Apart from the listener, so that work that waits on a dispatcher and retains the listener does not retain
/// the dispatcher: a dispatcher that is released with work in it is then deallocated, and its work with it.
///
/// Soundness of `@unchecked Sendable`: everything is constant but the two places, which belong to the
/// registry and are touched only under its lock.
final class Registration: @unchecked Sendable {
    let listener: Listener
    let dispatcher: (any Dispatcher)?
    /// Whether there is a dispatcher. A test of `dispatcher` itself copies it, a third of the cost of a call
    /// without one.
    let isDispatched: Bool
    let priority: Int

    /// Where the registry keeps it.
    var slot = 0
    var placeInIndex = 0

    init(_ listener: Listener, on dispatcher: (any Dispatcher)?, priority: Int = 0) {
        self.listener = listener
        self.dispatcher = dispatcher
        isDispatched = dispatcher != nil
        self.priority = priority
    }
}
