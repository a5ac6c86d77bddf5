/// Where channels are found by name and type of message.
///
/// One name with two types is two channels that know nothing of each other: two modules that happen upon the
/// same name don't meet, and ``listing`` shows both. ``shared`` is the process's; make another for a plug-in
/// or a test whose names are to be its own.
public final class ChannelDirectory: Sendable {
    /// The one that `Channel("name")` looks in.
    public static let shared = ChannelDirectory()

    private struct Key: Hashable {
        let name: String
        let messageType: ObjectIdentifier
    }

    private struct State {
        var anchors: [Key: ChannelAnchor] = [:]
        var sweepAt = smallestSweep
    }

    private static let smallestSweep = 64
    private let state = LockedState(State())

    /// A directory with no channels in it.
    public init() {}

    /// Every channel that has a listener, or that somebody holds a ``Channel`` of, sorted by name.
    public var listing: [ChannelListing] {
        sweep()
        return anchors.map(\.storage.listing).sorted { first, second in
            let names = (first.name ?? "", second.name ?? "")
            return names.0 != names.1 ? names.0 < names.1 : "\(first.messageType)" < "\(second.messageType)"
        }
    }

    /// How many it has, unused ones that were not come upon included.
    var count: Int {
        state.withLock { $0.anchors.count }
    }

    func anchor<Message: Sendable>(named name: String, of type: Message.Type) -> ChannelAnchor {
        let key = Key(name: name, messageType: ObjectIdentifier(type))
        let (anchor, isSweepDue) = state.withLock { state in
            if let anchor = state.anchors[key] { return (anchor, false) }
            let made = ChannelAnchor(ChannelStorage<Message>(name: name))
            state.anchors[key] = made
            return (made, state.anchors.count >= state.sweepAt)
        }
        if isSweepDue { sweep() }
        return anchor
    }

    private var anchors: [ChannelAnchor] {
        state.withLock { Array($0.anchors.values) }
    }

    /// Lets go of channels that nobody can tell were ever there: no listener, and no handle.
    ///
    /// Listeners that have gone are looked for outside the lock. An anchor that nobody else refers to under
    /// the lock can't come to be referred to except through the directory, which is locked.
    private func sweep() {
        for anchor in anchors { anchor.storage.sweep() }
        let unused = state.withLock { state in
            var unused: [ChannelAnchor] = []
            for key in Array(state.anchors.keys) {
                guard var anchor = state.anchors.removeValue(forKey: key) else { continue }
                if isKnownUniquelyReferenced(&anchor), anchor.storage.isUnheard {
                    unused.append(anchor)
                } else {
                    state.anchors[key] = anchor
                }
            }
            state.sweepAt = max(Self.smallestSweep, 2 * state.anchors.count)
            return unused
        }
        withExtendedLifetime(unused) {}
    }
}
