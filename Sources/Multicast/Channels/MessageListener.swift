internal import Deferred

/// A message that is kept for listeners that are added later.
final class RetainedMessage<Message: Sendable>: Sendable {
    let message: Message

    init(_ message: Message) { self.message = message }
}

/// A channel's listener, which calls a closure.
///
/// Sound as `@unchecked Sendable` as ``Listener`` is: `order` is set under the registry's lock, before a post finds the
/// listener, and never again.
class MessageListener<Message: Sendable>: Listener, @unchecked Sendable {
    private let body: @Sendable (AnyObject, Message) -> Void
    /// Nil for a listener that was added when no message was retained.
    private var order: SpinLocked<MessageOrder<Message>>?
    /// Whether it is called once, and therefore has no messages to order.
    private let isOnce: Bool

    init(
        _ owner: AnyObject, once: Bool = false, _ body: @escaping @Sendable (AnyObject, Message) -> Void
    ) {
        self.body = body
        isOnce = once
        super.init(owner, once: once)
    }

    override func expectRetained() { if !isOnce { order = SpinLocked(.undecided) } }

    /// Delivers a message that was posted, or leaves it to the call of ``receiveRetained(_:for:)`` that is in progress.
    func receive(_ message: Message, for owner: AnyObject) {
        if let order, order.withLock({ $0.leave(message) }) { return }
        body(owner, message)
    }

    /// Delivers the message that was retained when the listener was added, unless a later one came first; and then
    /// what was posted meanwhile.
    func receiveRetained(_ message: Message, for owner: AnyObject) {
        if isOnce { return body(owner, message) }
        order?.withLock { $0.begin(with: message) }
        while let waiting = order?.withLock({ $0.takeWaiting() }) {
            for message in waiting where !isRemoved { body(owner, message) }
        }
    }
}

/// How a ``MessageListener`` orders the retained message and those that are posted.
private enum MessageOrder<Message: Sendable>: Sendable {
    /// Neither has been delivered yet.
    case undecided
    /// The retained message, or one that was posted meanwhile, is being delivered; these wait.
    case delivering([Message])
    /// Posted messages are delivered at once. The retained one is older, and would come too late.
    case asPosted

    /// Leaves a message to the call that delivers the retained one. Returns false if there is none, and from now on
    /// there will be none.
    mutating func leave(_ message: Message) -> Bool {
        guard case .delivering(var waiting) = consume self else {
            self = .asPosted
            return false
        }
        waiting.append(message)
        self = .delivering(waiting)
        return true
    }

    /// Has the retained message be the first one that waits, unless a later one was delivered.
    mutating func begin(with retained: Message) {
        if case .undecided = self { self = .delivering([retained]) }
    }

    /// Returns the messages that wait, the first one first; nil if there are none, and from now on there will be none.
    mutating func takeWaiting() -> [Message]? {
        guard case .delivering(let waiting) = self, !waiting.isEmpty else {
            self = .asPosted
            return nil
        }
        self = .delivering([])
        return waiting
    }
}
