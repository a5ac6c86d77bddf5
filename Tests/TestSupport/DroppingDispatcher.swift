public import Deferred

/// A dispatcher that releases its work at once, without running it.
public struct DroppingDispatcher: Dispatcher {
    /// Creates a dispatcher.
    public init() {}

    /// Releases `work`.
    public func dispatch(_ work: @escaping @Sendable () -> Void) {}
}
