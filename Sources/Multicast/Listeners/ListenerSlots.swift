/// What a ``ListenerRegistry`` keeps behind its lock.
///
/// `slots` are those whom the next post goes to. `index` has every listener that may still be delivered to, by the
/// identity of its object: those in slots, and those taken out of them whose turn has not come. A listener knows its
/// slot, so that adding and removing take constant time, whatever the number; when half of the slots stand empty the
/// others move up. Sorting waits for the next post: it is then one pass over what is sorted already but for a tail.
struct ListenerSlots<Payload: Sendable> {
    private(set) var slots: [Listener<Payload>?] = []
    private(set) var index: [ObjectIdentifier: [Listener<Payload>]] = [:]
    private(set) var occupied = 0
    /// Somebody was added since all were last taken out or removed.
    var isAwaited = false

    private var isSorted = true
    private var lowestPriority = Int.max
    private var sweepAt = Self.smallestSweep
    private static var smallestSweep: Int { 64 }

    mutating func append(_ listener: Listener<Payload>) {
        listener.position = slots.count
        slots.append(listener)
        index[listener.identity, default: []].append(listener)
        occupied += 1
        if listener.priority > lowestPriority { isSorted = false }
        lowestPriority = min(lowestPriority, listener.priority)
    }

    /// True, once, when there are twice as many as at the last time: whoever is told looks for those that have gone,
    /// so that these never outnumber the rest for long and the search costs each adding a constant share.
    mutating func claimSweep() -> Bool {
        guard occupied >= sweepAt else { return false }
        sweepAt = 2 * occupied
        return true
    }

    /// Takes out listeners that have been marked as removed, wherever they are.
    mutating func unlink(_ removed: [Listener<Payload>]) {
        for listener in removed where slots.indices.contains(listener.position) {
            guard slots[listener.position] === listener else { continue }
            slots[listener.position] = nil
            occupied -= 1
        }
        for identity in Set(removed.map(\.identity)) {
            index[identity]?.removeAll { $0.isRemoved }
            if index[identity]?.isEmpty == true { index[identity] = nil }
        }
        sweepAt = max(Self.smallestSweep, min(sweepAt, 2 * occupied))
        if slots.count > 2 * occupied + 8 { moveUp() }
    }

    mutating func sort() {
        guard !isSorted else { return }
        moveUp { $0.sort { $0.priority > $1.priority } }
        isSorted = true
        lowestPriority = slots.last??.priority ?? .max
    }

    /// Leaves the listeners in the index alone.
    mutating func emptySlots() {
        slots = []
        occupied = 0
        isAwaited = false
        isSorted = true
        lowestPriority = .max
        sweepAt = Self.smallestSweep
    }

    mutating func removeAll() {
        emptySlots()
        index = [:]
    }

    private mutating func moveUp(_ arrange: (inout [Listener<Payload>]) -> Void = { _ in }) {
        var listeners = slots.compactMap { $0 }
        arrange(&listeners)
        for (position, listener) in listeners.enumerated() { listener.position = position }
        slots = listeners
    }
}
