internal import Deferred

/// Where channels are found by name and type of message.
///
/// One name with two types is two channels that know nothing of each other: two modules that happen to use
/// the same name don't meet, and ``listing`` shows both. ``shared`` is the process's; make another for a
/// plug-in or a test whose names are to be its own.
public final class ChannelDirectory: Sendable {
    /// The directory that `BroadcastChannel("name")` uses.
    public static let shared = ChannelDirectory()

    struct State {
        var channels: [ChannelKey: ChannelStorage] = [:]
        /// How many channels there are when the unused ones are next searched for and removed.
        var sweepAt = smallestSweep
        fileprivate static let smallestSweep = 64

        /// Removes a channel that has no listener, no retained message and no handle, and returns it.
        fileprivate mutating func removeIfUnused(_ key: ChannelKey) -> ChannelStorage? {
            guard let place = channels.index(forKey: key), isKnownUniquelyReferenced(&channels.values[place]),
                channels.values[place].registry.isUnused
            else { return nil }
            return channels.remove(at: place).value
        }
    }

    let state = SpinLocked(State())

    /// Creates a directory without channels.
    public init() {}

    /// Every channel that has a listener, a retained message or a handle (a ``BroadcastChannel``), sorted by name.
    ///
    /// - Complexity: O(*n* log *n*), where *n* is the number of channels, and of their listeners.
    public var listing: [ChannelListing] {
        sweep()
        let channels = state.withLock { Array($0.channels.values) }
        return channels.map(\.listing).sorted {
            ($0.name ?? "", "\($0.messageType)") < ($1.name ?? "", "\($1.messageType)")
        }
    }

    func storage(named name: String, of type: any Any.Type) -> ChannelStorage {
        let key = ChannelKey(name: name, messageType: ObjectIdentifier(type))
        let (channel, isSweepDue) = state.withLock { state in
            if let channel = state.channels[key] { return (channel, false) }
            let channel = ChannelStorage(name, type, in: self)
            state.channels[key] = channel
            return (channel, state.channels.count >= state.sweepAt)
        }
        if isSweepDue { sweep() }
        return channel
    }

    /// Removes the unused channels. They therefore never outnumber the others for long, and each channel that is added
    /// costs a constant share of the sweeps.
    private func sweep() {
        let keys = state.withLock { state in
            state.sweepAt = .max
            return Array(state.channels.keys)
        }
        // Searched for a listener outside the lock. While the lock is held, a channel that only the directory refers to
        // can't get another reference.
        for key in keys where state.withLock({ $0.channels[key]?.registry })?.hasLivingListener() == false {
            withExtendedLifetime(state.withLock { $0.removeIfUnused(key) }) {}
        }
        state.withLock { $0.sweepAt = max(State.smallestSweep, 2 * $0.channels.count) }
    }

    /// Removes a channel that was finished, and leaves one that was since made by the same name.
    func remove(_ channel: ChannelStorage) {
        state.withLock { state in
            // Its caller retains it.
            if state.channels[channel.key] === channel { state.channels[channel.key] = nil }
        }
    }
}

/// The key of a channel in its directory.
struct ChannelKey: Hashable {
    let name: String?
    let messageType: ObjectIdentifier
}

/// What all handles of one channel share. A directory retains it, too: if only that does, there is no handle.
final class ChannelStorage: Sendable {
    let name: String?
    let messageType: any Any.Type
    let registry = ListenerRegistry()
    /// The directory that has it; none for a channel without a name.
    let directory: WeakReference<ChannelDirectory>

    init(_ name: String?, _ messageType: any Any.Type, in directory: ChannelDirectory?) {
        self.name = name
        self.messageType = messageType
        self.directory = WeakReference(directory)
    }

    var key: ChannelKey { ChannelKey(name: name, messageType: ObjectIdentifier(messageType)) }

    var listing: ChannelListing {
        let listeners = registry.snapshot().compactMap { registration in
            registration.listener.recipient(in: registry).map { owner in
                ChannelListing.Listener(
                    owner: "\(type(of: owner))", priority: registration.priority,
                    dispatcher: registration.dispatcher.map { "\(type(of: $0))" })
            }
        }
        return ChannelListing(name: name, messageType: messageType, listeners: listeners)
    }
}

/// A channel and its listeners at one moment, for debugging; see ``BroadcastChannel/listing`` and
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
