/// What a ``ListenerRegistry`` keeps behind its lock.
///
/// `slots` has the listeners of the next post. `index` has all listeners that may still be called, by the
/// identity of their object: those in slots, and those taken out of them that were not called yet. A
/// registration knows its place in both, so that adding and removing take constant time. When half of the
/// slots are empty, they are compacted. Sorting is delayed until the next post: it is then one pass over
/// registrations that are sorted already except for a tail.
struct ListenerSlots {
    private(set) var slots: [Registration?] = []
    private(set) var index: [ObjectIdentifier: [Registration]] = [:]
    private(set) var occupied = 0
    /// Whether a listener was added since all were last taken out or removed.
    var isAwaited = false
    /// Whether no listener is added any more.
    var isFinished = false
    /// What later listeners receive when they are added.
    var retained: (any AnyObject & Sendable)?

    /// Whether a copy of `slots` was made since it last got a buffer of its own.
    private var isShared = false
    private var isSorted = true
    private var lowestPriority = Int.max
    private var sweepAt = Self.smallestSweep
    private static var smallestSweep: Int { 64 }

    /// A copy of the slots, in constant time. The next change copies them.
    ///
    /// An array without other references could be changed in place. But only its reference count orders the
    /// reads of other threads before the change, and ThreadSanitizer does not see that.
    mutating func sharedSlots() -> [Registration?] {
        isShared = true
        return slots
    }

    /// The registrations of an object, in a buffer of their own.
    func registrations(of identity: ObjectIdentifier) -> [Registration] {
        index[identity]?.withUnsafeBufferPointer { Array($0) } ?? []
    }

    /// Copies the slots into a buffer of their own, at most once for each snapshot.
    private mutating func makeUnshared() {
        guard isShared else { return }
        isShared = false
        slots = slots.withUnsafeBufferPointer { Array($0) }
    }

    mutating func append(_ registration: Registration) {
        makeUnshared()
        registration.slot = slots.count
        slots.append(registration)
        registration.placeInIndex = index[registration.listener.identity]?.count ?? 0
        index[registration.listener.identity, default: []].append(registration)
        occupied += 1
        if registration.priority > lowestPriority { isSorted = false }
        lowestPriority = min(lowestPriority, registration.priority)
    }

    /// Returns true, once, when there are twice as many registrations as after the last sweep. The caller then
    /// sweeps, so that deallocated objects never outnumber the others for long, and each added listener costs
    /// a constant share of the sweeps.
    mutating func claimSweep() -> Bool {
        guard occupied >= sweepAt else { return false }
        sweepAt = 2 * occupied
        return true
    }

    /// Removes registrations from slots and index. The caller retains them until after the lock.
    mutating func unlink(_ registrations: [Registration]) {
        for registration in registrations {
            vacateSlot(of: registration)
            removeFromIndex(registration)
        }
        sweepAt = max(Self.smallestSweep, min(sweepAt, 2 * occupied))
        if slots.count > 2 * occupied + 8 { compact() }
    }

    private mutating func vacateSlot(of registration: Registration) {
        guard slots.indices.contains(registration.slot), slots[registration.slot] === registration else {
            return
        }
        makeUnshared()
        slots[registration.slot] = nil
        occupied -= 1
        while case .some(nil) = slots.last { slots.removeLast() }
    }

    /// The registration in the last slot, which is never empty.
    var last: Registration? { slots.last ?? nil }

    /// The last registration of the same object takes its place; their order has no meaning.
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
        compact { $0.sort { $0.priority > $1.priority } }
        isSorted = true
        lowestPriority = slots.last??.priority ?? .max
    }

    /// Removes all registrations from slots, and leaves them in the index.
    mutating func emptySlots() {
        slots = []
        isShared = false
        occupied = 0
        isAwaited = false
        isSorted = true
        lowestPriority = .max
        sweepAt = Self.smallestSweep
    }

    /// Removes all registrations and returns them, to be released after the lock.
    mutating func removeAll() -> ListenerSlots {
        let removed = self
        self = ListenerSlots()
        isFinished = removed.isFinished
        retained = removed.retained
        return removed
    }

    private mutating func compact(_ arrange: (inout [Registration]) -> Void = { _ in }) {
        var registrations = slots.compactMap { $0 }
        arrange(&registrations)
        for (slot, registration) in registrations.enumerated() {
            registration.slot = slot
        }
        slots = registrations
        isShared = false
    }
}
