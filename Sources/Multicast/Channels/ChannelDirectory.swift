internal import Deferred

/// Where channels are found by name and type of message.
///
/// One name with two types is two channels that know nothing of each other: two modules that happen to use
/// the same name don't meet, and ``listing`` shows both. ``shared`` is the process's; make another for a
/// plug-in or a test whose names are to be its own.
public final class ChannelDirectory: Sendable {
    /// The directory that `Channel("name")` uses.
    public static let shared = ChannelDirectory()

    /// The channels in no particular order, and the place of each.
    struct State {
        var anchors: [ChannelAnchor] = []
        var places: [ChannelKey: Int] = [:]
        /// The place of the next channel that is checked for whether it is still used.
        var hand = 0

        /// Removes a channel; the last one takes its place.
        mutating func remove(at place: Int) -> ChannelAnchor {
            let removed = anchors[place]
            places[removed.key] = nil
            let last = anchors.removeLast()
            if last.key != removed.key {
                anchors[place] = last
                places[last.key] = place
            }
            return removed
        }
    }

    let state = SpinLocked(State())

    /// Creates a directory without channels.
    public init() {}

    /// Every channel that has a listener, a retained message or a handle (a ``Channel``), sorted by name.
    public var listing: [ChannelListing] {
        for key in keys { removeIfUnused(key) }
        return anchors.map(\.storage.listing).sorted { first, second in
            let names = (first.name ?? "", second.name ?? "")
            return names.0 != names.1 ? names.0 < names.1 : "\(first.messageType)" < "\(second.messageType)"
        }
    }

    func anchor<Message: Sendable>(named name: String, of type: Message.Type) -> ChannelAnchor {
        let key = ChannelKey(name: name, messageType: ObjectIdentifier(type))
        let (anchor, isNew) = state.withLock { state in
            if let place = state.places[key] { return (state.anchors[place], false) }
            let anchor = ChannelAnchor(key, ChannelStorage<Message>(name: name), in: self)
            state.places[key] = state.anchors.count
            state.anchors.append(anchor)
            return (anchor, true)
        }
        if isNew { removeSomeUnused() }
        return anchor
    }

    /// Checks two channels for every one that is added. Unused channels therefore never outnumber the others
    /// for long, and adding one takes constant time.
    private func removeSomeUnused() {
        for _ in 0..<2 {
            let key = state.withLock { state -> ChannelKey? in
                // The channel that was added may have been finished since, and have been the last.
                guard !state.anchors.isEmpty else { return nil }
                state.hand = state.hand + 1 < state.anchors.count ? state.hand + 1 : 0
                return state.anchors[state.hand].key
            }
            guard let key else { return }
            removeIfUnused(key)
        }
    }

    /// Removes a channel that has no listener, no retained message and no handle.
    ///
    /// Searches for a listener outside the lock. While the lock is held, an anchor that only the directory
    /// refers to can't get another reference.
    private func removeIfUnused(_ key: ChannelKey) {
        let storage = state.withLock { state in
            state.places[key].map { state.anchors[$0].storage }
        }
        guard let storage, !storage.hasLivingListener else { return }
        let removed = state.withLock { state -> ChannelAnchor? in
            guard let place = state.places[key],
                isKnownUniquelyReferenced(&state.anchors[place]),
                state.anchors[place].storage.isUnused
            else { return nil }
            return state.remove(at: place)
        }
        withExtendedLifetime(removed) {}
    }

    /// Removes a channel that was finished, and leaves one that was since made by the same name.
    func remove(_ anchor: ChannelAnchor) {
        let removed = state.withLock { state -> ChannelAnchor? in
            guard let place = state.places[anchor.key], state.anchors[place] === anchor else { return nil }
            return state.remove(at: place)
        }
        withExtendedLifetime(removed) {}
    }

    private var keys: [ChannelKey] {
        state.withLock { state in state.anchors.map(\.key) }
    }

    private var anchors: [ChannelAnchor] {
        state.withLock { state in state.anchors.withUnsafeBufferPointer { Array($0) } }
    }
}

/// What all handles of one channel share.
final class ChannelStorage<Message: Sendable>: Sendable {
    let name: String?
    let registry = ListenerRegistry()

    init(name: String?) {
        self.name = name
    }
}

/// The key of a channel in its directory.
struct ChannelKey: Hashable {
    let name: String
    let messageType: ObjectIdentifier
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

/// A channel and its listeners at one moment, for debugging; see ``Channel/listing`` and
/// ``ChannelDirectory/listing``.
public struct ChannelListing: Sendable, CustomStringConvertible {
    /// A listener.
    public struct Listener: Sendable, CustomStringConvertible {
        /// The type of the object that the listener belongs to.
        public let owner: String
        /// Higher is called earlier.
        public let priority: Int
        /// The type of the dispatcher it is called on; nil if it is called at once.
        public let dispatcher: String?

        /// As in `Window (priority 5, on DispatchQueue)`.
        public var description: String {
            "\(owner) (priority \(priority), \(dispatcher.map { "on \($0)" } ?? "at once"))"
        }
    }

    /// The channel's name; nil if it was made without one.
    public let name: String?
    /// What its messages are.
    public let messageType: any Any.Type
    /// Its listeners, in the order they are called in.
    public let listeners: [Listener]

    /// As in `"chat" of String, 1 listener: Window (priority 5, at once)`.
    public var description: String {
        let title = "\(name.map { "\"\($0)\"" } ?? "unnamed") of \(messageType)"
        if listeners.isEmpty { return "\(title), no listeners" }
        let number = listeners.count == 1 ? "1 listener" : "\(listeners.count) listeners"
        return "\(title), \(number): \(listeners.map(\.description).joined(separator: ", "))"
    }
}
