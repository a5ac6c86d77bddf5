internal import Deferred
import Synchronization

/// What all handles of one channel share.
final class ChannelStorage<Message: Sendable>: Sendable {
    let name: String?
    let registry = ListenerRegistry()

    init(name: String?) {
        self.name = name
    }
}

/// A message that is kept for listeners that are added later.
final class RetainedMessage<Message: Sendable>: Sendable {
    let message: Message

    init(_ message: Message) {
        self.message = message
    }
}

/// A channel's listener, which calls a closure.
///
/// Soundness of `@unchecked Sendable`: as for ``Listener``.
class MessageListener<Message: Sendable>: Listener, @unchecked Sendable {
    private let body: @Sendable (AnyObject, Message) -> Void
    /// Whether the delivery of a post has begun. The retained message is older, and would come too late.
    private let hasReceivedPost = Atomic(false)

    init(_ owner: AnyObject, _ body: @escaping @Sendable (AnyObject, Message) -> Void) {
        self.body = body
        super.init(owner)
    }

    /// Delivers a message that was posted.
    func receive(_ message: Message, for owner: AnyObject) {
        if !hasReceivedPost.load(ordering: .relaxed) { hasReceivedPost.store(true, ordering: .releasing) }
        body(owner, message)
    }

    /// Delivers the message that was retained when the listener was added, unless a later one came first.
    func receiveRetained(_ message: Message, for owner: AnyObject) {
        if !hasReceivedPost.load(ordering: .acquiring) { body(owner, message) }
    }
}

/// What a directory and each handle of one of its channels retain: if only the directory does, there is no
/// handle. (A class of its own, since `isKnownUniquelyReferenced` doesn't take an existential.)
final class ChannelAnchor: Sendable {
    let key: ChannelKey
    let storage: any UntypedChannelStorage
    private let directoryReference: WeakReference<ChannelDirectory>

    init(_ key: ChannelKey, _ storage: any UntypedChannelStorage, in directory: ChannelDirectory) {
        self.key = key
        self.storage = storage
        directoryReference = WeakReference(directory)
    }

    var directory: ChannelDirectory? { directoryReference.object }
}

/// A channel with any type of messages, as its directory knows it.
protocol UntypedChannelStorage: AnyObject, Sendable {
    var listing: ChannelListing { get }
    /// Whether there is a listener whose owner exists. Releases the owner, so not under a lock.
    var hasLivingListener: Bool { get }
    /// Whether there are no listeners, deallocated ones included, and no retained message.
    var isUnused: Bool { get }
}

extension ChannelStorage: UntypedChannelStorage {
    var hasLivingListener: Bool { registry.hasLivingListener() }

    var isUnused: Bool { registry.isUnused }

    var listing: ChannelListing {
        let listeners = registry.snapshot().compactMap { registration -> ChannelListing.Listener? in
            guard let registration, let owner = registration.listener.recipient(in: registry) else {
                return nil
            }
            return ChannelListing.Listener(
                owner: String(describing: type(of: owner)),
                priority: registration.priority,
                dispatcher: registration.dispatcher.map { String(describing: type(of: $0)) }
            )
        }
        return ChannelListing(name: name, messageType: Message.self, listeners: listeners)
    }
}
