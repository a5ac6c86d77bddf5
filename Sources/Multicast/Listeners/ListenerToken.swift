internal import Deferred

/// Identifies one listener, to remove it alone.
///
/// An object may listen more than once, to one channel or as one delegate on several dispatchers;
/// `remove(_:on:)` then removes all of them. A token removes the one that it was returned for.
///
/// ```swift
/// let token = channel.listen(window, on: .main) { window, line in window.show(line) }
/// token.remove()
/// ```
///
/// A token may be ignored: releasing it removes nothing. The listener stays for as long as its owner exists,
/// as it does without a token, or until it is removed. A token retains neither the owner, nor the closure,
/// nor the dispatcher. Copies of a token identify the same listener.
public struct ListenerToken: Sendable {
    private let listener: WeakReference<Listener>
    private let registry: WeakReference<ListenerRegistry>

    init(_ listener: Listener, in registry: ListenerRegistry) {
        self.listener = WeakReference(listener)
        self.registry = WeakReference(registry)
    }

    /// Removes the listener. What was queued for it is not delivered. Does nothing if it was removed before.
    ///
    /// May be called from any thread, also from inside the listener and from its owner's `deinit`.
    public func remove() {
        guard let listener = listener.object else { return }
        // Where the registry was finished or released, only queued deliveries retain the listener.
        if let registry = registry.object { registry.remove([listener]) } else { listener.markRemoved() }
    }

    /// Whether the listener can receive messages: it was not removed, its owner exists, and its channel was not
    /// finished.
    public var isListening: Bool {
        guard let listener = listener.object, let registry = registry.object else { return false }
        return !listener.isRemoved && listener.owner != nil && !registry.isFinished
    }
}
