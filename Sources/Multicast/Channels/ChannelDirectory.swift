/// Where channels are found by name and type of message.
///
/// One name with two types is two channels that know nothing of each other: two modules that happen to use
/// the same name don't meet, and ``listing`` shows both. ``shared`` is the process's; make another for a
/// plug-in or a test whose names are to be its own.
public final class ChannelDirectory: Sendable {
    /// The directory that `Channel("name")` uses.
    public static let shared = ChannelDirectory()

    /// The channels in no particular order, and the place of each.
    private struct State {
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

    private let state = LockedState(State())

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

    /// The number of channels, including those that are no longer used and not yet removed.
    var count: Int {
        state.withLock { $0.anchors.count }
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

/// The key of a channel in its directory.
struct ChannelKey: Hashable {
    let name: String
    let messageType: ObjectIdentifier
}
