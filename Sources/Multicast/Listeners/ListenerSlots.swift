internal import Deferred

/// The state of a ``ListenerRegistry``, and every decision about it: each function is one critical section. None
/// calls a listener or releases one: what it removes, the caller has or receives.
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
    private var isAwaited = false
    /// Whether no listener is added any more.
    private(set) var isFinished = false
    /// What later listeners receive when they are added.
    private(set) var retained: (any AnyObject & Sendable)?
    /// The listeners that ended with their channel. It retains neither them nor their closures; a delivery that was
    /// submitted before does, and can still be prevented.
    private(set) var ended: [EndedListener] = []

    /// Whether a copy of `slots` was made since it last got a buffer of its own.
    private var isShared = false
    private var isSorted = true
    private var lowestPriority = Int.max
    private var sweepAt = Self.smallestSweep
    private static var smallestSweep: Int { 64 }

    typealias EndedListener = (listener: WeakReference<Listener>, dispatcher: (any Dispatcher)?)

    /// What is found out about a new listener.
    struct Admission {
        /// Whether it is the first since the last take.
        let isFirst: Bool
        /// What the last post retained. A post retains its message and finds its listeners in one critical
        /// section, so a listener gets each retained message either from the post or from here.
        let retained: (any AnyObject & Sendable)?
        /// Whether there are twice as many registrations as after the last sweep. The caller then sweeps, so that
        /// deallocated objects never outnumber the others for long, and each added listener costs a constant share
        /// of the sweeps.
        let isSweepDue: Bool
    }

    /// Adds a listener after those of its priority. Returns nil, and adds nothing, once finished.
    mutating func add(_ registration: Registration) -> Admission? {
        guard !isFinished else { return nil }
        if retained != nil { registration.listener.expectRetained() }
        append(registration)
        let isSweepDue = occupied >= sweepAt
        if isSweepDue { sweepAt = 2 * occupied }
        defer { isAwaited = true }
        return Admission(isFirst: !isAwaited, retained: retained, isSweepDue: isSweepDue)
    }

    /// Returns the listeners of a post, in order. There may be empty slots in between.
    mutating func snapshot() -> [Registration?] {
        sort()
        return sharedSlots()
    }

    /// As ``snapshot()``, and exchanges what is retained for later listeners, unless finished.
    mutating func snapshot(exchanging message: inout (any AnyObject & Sendable)?) -> [Registration?] {
        if !isFinished { swap(&retained, &message) }
        return snapshot()
    }

    /// Removes what is retained for later listeners, and returns it.
    mutating func takeRetained() -> (any AnyObject & Sendable)? { retained.take() }

    /// Takes the listeners of a post out of their slots, and leaves them in the index.
    mutating func take() -> [Registration?] {
        sort()
        let before = removeAll()
        index = before.index
        return before.slots
    }

    /// Removes all listeners and what is retained, and adds none from now on. Returns what it removed.
    mutating func finish() -> ListenerSlots {
        let before = removeAll()
        if !before.isFinished {
            ended = before.slots.compactMap { $0 }.map { (WeakReference($0.listener), $0.dispatcher) }
        }
        isFinished = true
        retained = nil
        return before
    }

    /// Forgets those who ended and that nothing retains. Returns the list before.
    mutating func keepEnded(_ rest: [EndedListener]) -> [EndedListener] {
        defer { ended = rest }
        return ended
    }

    /// Removes all listeners, and returns the state before, to be released after the lock.
    mutating func removeAll() -> ListenerSlots {
        let before = self
        self = ListenerSlots()
        isFinished = before.isFinished
        retained = before.retained
        ended = before.ended
        return before
    }

    /// A copy of the slots, in constant time. The next change copies them.
    ///
    /// An array without other references could be changed in place. But only its reference count orders the
    /// reads of other threads before the change, and ThreadSanitizer does not see that.
    mutating func sharedSlots() -> [Registration?] {
        isShared = true
        return slots
    }

    /// The registration in the last slot, which is never empty.
    var last: Registration? { slots.last ?? nil }

    /// The registrations of an object, in a buffer of their own.
    func registrations(of identity: ObjectIdentifier) -> [Registration] {
        index[identity]?.withUnsafeBufferPointer { Array($0) } ?? []
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
}

extension ListenerSlots {
    private mutating func append(_ registration: Registration) {
        makeUnshared()
        registration.slot = slots.count
        slots.append(registration)
        registration.placeInIndex = index[registration.listener.identity]?.count ?? 0
        index[registration.listener.identity, default: []].append(registration)
        occupied += 1
        if registration.priority > lowestPriority { isSorted = false }
        lowestPriority = min(lowestPriority, registration.priority)
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

    /// Copies the slots into a buffer of their own, at most once for each snapshot.
    private mutating func makeUnshared() {
        guard isShared else { return }
        isShared = false
        slots = slots.withUnsafeBufferPointer { Array($0) }
    }

    private mutating func sort() {
        guard !isSorted else { return }
        compact { $0.sort { $0.priority > $1.priority } }
        isSorted = true
        lowestPriority = slots.last??.priority ?? .max
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
