import Synchronization

/// A message that is kept for listeners that are added later.
final class RetainedMessage<Message: Sendable>: Sendable {
    let message: Message

    init(_ message: Message) {
        self.message = message
    }
}

/// A channel's listener, which calls a closure.
///
/// Sound as `@unchecked Sendable` as ``Listener`` is.
class MessageListener<Message: Sendable>: Listener, @unchecked Sendable {
    private let body: @Sendable (AnyObject, Message) -> Void
    /// One of the ``MessageOrder`` values, or the address of the last ``WaitingMessage``, which it retains.
    private let order = Atomic<UInt>(MessageOrder.undecided)

    init(_ owner: AnyObject, _ body: @escaping @Sendable (AnyObject, Message) -> Void) {
        self.body = body
        super.init(owner)
    }

    /// Delivers a message that was posted, or leaves it to the call of ``receiveRetained(_:for:)`` that is in progress.
    func receive(_ message: Message, for owner: AnyObject) {
        if order.load(ordering: .acquiring) == MessageOrder.asPosted || !leave(message) {
            body(owner, message)
        }
    }

    /// Delivers the message that was retained when the listener was added, unless a later one came first; and then
    /// what was posted meanwhile.
    func receiveRetained(_ message: Message, for owner: AnyObject) {
        guard change(from: MessageOrder.undecided, to: MessageOrder.retainedFirst) else { return }
        body(owner, message)
        while !change(from: MessageOrder.retainedFirst, to: MessageOrder.asPosted) {
            for message in takeWaiting() where !isRemoved { body(owner, message) }
        }
    }

    /// Leaves a message to the call that delivers the retained one. Returns false if there is none, and from now on
    /// there will be none.
    private func leave(_ message: Message) -> Bool {
        while true {
            let seen = order.load(ordering: .acquiring)
            switch seen {
            case MessageOrder.asPosted:
                return false
            case MessageOrder.undecided:
                if change(from: seen, to: MessageOrder.asPosted) { return false }
            default:
                let waiting = Unmanaged.passRetained(WaitingMessage(message, after: seen))
                if change(from: seen, to: UInt(bitPattern: waiting.toOpaque())) { return true }
                waiting.release()
            }
        }
    }

    /// Returns the messages that were left to this call, the first one first.
    ///
    /// Sound: the exchange takes over the reference to each message in the list.
    private func takeWaiting() -> [Message] {
        var messages: [Message] = []
        var last = order.exchange(MessageOrder.retainedFirst, ordering: .acquiringAndReleasing)
        while let address = UnsafeRawPointer(bitPattern: last), last != MessageOrder.retainedFirst {
            let waiting = Unmanaged<WaitingMessage<Message>>.fromOpaque(address).takeRetainedValue()
            messages.append(waiting.message)
            last = waiting.previous
        }
        return messages.reversed()
    }

    private func change(from expected: UInt, to desired: UInt) -> Bool {
        order.compareExchange(
            expected: expected, desired: desired, ordering: .acquiringAndReleasing
        ).exchanged
    }
}

/// How a ``MessageListener`` orders the retained message and those that are posted.
private enum MessageOrder {
    /// Neither has been delivered yet.
    static var undecided: UInt { 0 }
    /// Posted messages are delivered at once. The retained one is older, and would come too late.
    static var asPosted: UInt { 1 }
    /// The retained message is being delivered. Posted messages wait in a list, none so far.
    static var retainedFirst: UInt { 2 }
}

/// A message that waits until the retained one has been delivered.
private final class WaitingMessage<Message: Sendable>: Sendable {
    let message: Message
    /// The address of the one that was posted before it, or ``MessageOrder/retainedFirst``.
    let previous: UInt

    init(_ message: Message, after previous: UInt) {
        self.message = message
        self.previous = previous
    }
}
