import Deferred

/// A listener, and how it wants to be called.
///
/// Apart from the listener, so that work which waits on a dispatcher and holds the listener doesn't hold the
/// dispatcher: one that is let go of with work left undone is then let go of, and the work with it.
///
/// Soundness of `@unchecked Sendable`: everything is constant but the two places, which belong to the
/// registry and are touched only under its lock.
final class Registration: @unchecked Sendable {
    let listener: Listener
    let dispatcher: (any Dispatcher)?
    /// Whether there is a dispatcher: to look at that itself copies it, a third of the cost of a call without
    /// one.
    let isHandedOver: Bool
    let priority: Int

    /// Where the registry keeps it.
    var slot = 0
    var placeInIndex = 0

    init(_ listener: Listener, on dispatcher: (any Dispatcher)?, priority: Int = 0) {
        self.listener = listener
        self.dispatcher = dispatcher
        isHandedOver = dispatcher != nil
        self.priority = priority
    }
}
