/// What all handles of one channel share.
final class ChannelStorage<Message: Sendable>: Sendable {
    let name: String?
    let registry = ListenerRegistry()

    init(name: String?) {
        self.name = name
    }
}

/// Soundness of `@unchecked Sendable`: as for ``Listener``.
final class MessageListener<Message: Sendable>: Listener, @unchecked Sendable {
    let body: @Sendable (AnyObject, Message) -> Void

    init(_ owner: AnyObject, _ body: @escaping @Sendable (AnyObject, Message) -> Void) {
        self.body = body
        super.init(owner)
    }
}

/// What a directory and each handle of one of its channels hold: that the directory alone holds it means that
/// there is no handle. (A class of its own, since `isKnownUniquelyReferenced` can't be asked of an
/// existential.)
final class ChannelAnchor: Sendable {
    let storage: any UntypedChannelStorage

    init(_ storage: any UntypedChannelStorage) {
        self.storage = storage
    }
}

/// A channel whatever its messages are, as its directory knows it.
protocol UntypedChannelStorage: AnyObject, Sendable {
    var listing: ChannelListing { get }
    var isUnheard: Bool { get }
    func sweep()
}

extension ChannelStorage: UntypedChannelStorage {
    var isUnheard: Bool { registry.occupiedCount == 0 }

    func sweep() {
        registry.sweep()
    }

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
