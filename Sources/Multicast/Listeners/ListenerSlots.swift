/// What a ``ListenerRegistry`` keeps behind its lock.
///
/// `slots` are those whom the next post goes to. `index` has everyone who may still be delivered to, by the
/// identity of its object: those in slots, and those taken out of them whose turn has not come. A
/// registration knows its place in both, so that adding and removing take constant time, whatever the number;
/// when half of the slots stand empty the others move up. Sorting waits for the next post: it is then one
/// pass over what is sorted already but for a tail.
struct ListenerSlots {
    private(set) var slots: [Registration?] = []
    private(set) var index: [ObjectIdentifier: [Registration]] = [:]
    private(set) var occupied = 0
    /// Somebody was added since all were last taken out or removed.
    var isAwaited = false

    private var isSorted = true
    private var lowestPriority = Int.max
    private var sweepAt = Self.smallestSweep
    private static var smallestSweep: Int { 64 }

    mutating func append(_ registration: Registration) {
        registration.slot = slots.count
        slots.append(registration)
        registration.placeInIndex = index[registration.listener.identity]?.count ?? 0
        index[registration.listener.identity, default: []].append(registration)
        occupied += 1
        if registration.priority > lowestPriority { isSorted = false }
        lowestPriority = min(lowestPriority, registration.priority)
    }

    /// True, once, when there are twice as many as at the last time: whoever is told looks for those that
    /// have gone, so that these never outnumber the rest for long and the search costs each adding a constant
    /// share.
    mutating func claimSweep() -> Bool {
        guard occupied >= sweepAt else { return false }
        sweepAt = 2 * occupied
        return true
    }

    /// Takes registrations out, wherever they are. The caller holds them until after the lock.
    mutating func unlink(_ registrations: [Registration]) {
        for registration in registrations {
            vacateSlot(of: registration)
            removeFromIndex(registration)
        }
        sweepAt = max(Self.smallestSweep, min(sweepAt, 2 * occupied))
        if slots.count > 2 * occupied + 8 { moveUp() }
    }

    private mutating func vacateSlot(of registration: Registration) {
        guard slots.indices.contains(registration.slot), slots[registration.slot] === registration else {
            return
        }
        slots[registration.slot] = nil
        occupied -= 1
    }

    /// Its place among the registrations of its object, whose order says nothing, is filled by the last of
    /// them.
    private mutating func removeFromIndex(_ registration: Registration) {
        let place = registration.placeInIndex
        guard let entry = index.index(forKey: registration.listener.identity),
            index.values[entry].indices.contains(place),
            index.values[entry][place] === registration
        else { return }
        let last = index.values[entry].removeLast()
        if index.values[entry].isEmpty {
            index.remove(at: entry)
        } else if last !== registration {
            index.values[entry][place] = last
            last.placeInIndex = place
        }
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

    /// Takes out everything and gives it back, to be let go of after the lock.
    mutating func removeAll() -> ListenerSlots {
        defer { self = ListenerSlots() }
        return self
    }

    private mutating func moveUp(_ arrange: (inout [Registration]) -> Void = { _ in }) {
        var registrations = slots.compactMap { $0 }
        arrange(&registrations)
        for (slot, registration) in registrations.enumerated() {
            registration.slot = slot
        }
        slots = registrations
    }
}
