import Deferred

/// A listener, and how it wants to be called.
///
/// Apart from the listener, so that work which waits on a dispatcher and holds the listener doesn't hold the dispatcher:
/// one that is let go of with work left undone is then let go of, and the work with it.
struct Registration<Payload: Sendable>: Sendable {
    let listener: Listener<Payload>
    let dispatcher: (any Dispatcher)?
    let priority: Int

    init(_ owner: AnyObject, on dispatcher: (any Dispatcher)?, priority: Int = 0, payload: Payload) {
        listener = Listener(owner, payload)
        self.dispatcher = dispatcher
        self.priority = priority
    }
}
