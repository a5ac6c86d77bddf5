internal import Deferred

/// The state of a ``ListenerRegistry``, and every decision about it: each function is one critical section. None
/// calls a listener or releases one: what it removes, the caller has or receives.
///
/// `slots` has the listeners of the next post. `index` has all listeners that may still be called, by the
/// identity of their object: those in slots, and those taken out of them that were not called yet. A
/// listener knows its place in both, so that adding and removing take constant time. When half of the slots
/// are empty, they are compacted. Where there are priorities, a post that follows a change sorts them, in one
/// pass where they are sorted already except for a tail.
struct ListenerSlots {
    private var slots: [Registration?] = []
    /// The listeners in slots, in the order of a post; nil after a change. It has a buffer of its own, which threads
    /// that iterate over it share, and which is never changed.
    private var sorted: [Registration]?
    private var hasPriorities = false
    private(set) var index: [ObjectIdentifier: [Registration]] = [:]
    private(set) var occupied = 0
    /// Whether a listener was added since all were last taken out or removed.
    private var isAwaited = false
    /// What later listeners receive when they are added.
    var retained: (any AnyObject & Sendable)?
    /// The listeners that ended with their channel, by the identity of their object; nil until it is finished. It
    /// retains neither them, nor their closures, nor their dispatchers where ``DispatcherReference`` can refer to those
    /// weakly; a delivery that was submitted before retains its listener, and can still be prevented.
    private(set) var ended: [ObjectIdentifier: [Ended]]?
    typealias Ended = (listener: WeakReference<Listener>, dispatcher: (any Dispatcher)?)
    private var sweepAt = Self.smallestSweep
    private static var smallestSweep: Int { 64 }

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

    private var isSparse: Bool { slots.count > 2 * occupied + 8 }

    /// Whether no listener is added any more.
    var isFinished: Bool { ended != nil }

    /// Adds a listener after those of its priority. Returns nil, and adds nothing, once finished.
    mutating func add(_ registration: Registration) -> Admission? {
        guard !isFinished else { return nil }
        if retained != nil { registration.listener.expectRetained() }
        sorted = nil
        if registration.priority != 0 { hasPriorities = true }
        registration.listener.slot = slots.count
        slots.append(registration)
        registration.listener.placeInIndex = index[registration.listener.identity]?.count ?? 0
        index[registration.listener.identity, default: []].append(registration)
        occupied += 1
        let isSweepDue = occupied >= sweepAt
        if isSweepDue { sweepAt = 2 * occupied }
        defer { isAwaited = true }
        return Admission(isFirst: !isAwaited, retained: retained, isSweepDue: isSweepDue)
    }

    /// Returns the listeners of a post, in order.
    mutating func snapshot() -> [Registration] {
        if let sorted { return sorted }
        if hasPriorities || isSparse {
            slots.removeAll { $0 == nil }
            slots.sort { $0!.priority > $1!.priority }
            for (slot, registration) in slots.enumerated() { registration!.listener.slot = slot }
        }
        let registrations = slots.compactMap { $0 }
        sorted = registrations
        return registrations
    }

    /// As ``snapshot()``; exchanges a message, if there is one, for what is retained for later listeners, unless
    /// finished.
    mutating func snapshot(exchanging message: inout (any AnyObject & Sendable)?) -> [Registration] {
        if message != nil, !isFinished { swap(&retained, &message) }
        return snapshot()
    }

    /// Takes the listeners of a post out of their slots, and leaves them in the index, which no longer retains their
    /// dispatchers.
    mutating func take() -> [Registration] {
        let taken = snapshot()
        for former in taken {
            index[former.listener.identity]![former.listener.placeInIndex] = former.referringWeakly
        }
        index = removeAll().index
        return taken
    }

    /// Removes all listeners and what is retained, and adds none from now on. Returns what it removed.
    mutating func finish() -> ListenerSlots {
        let before = removeAll()
        let present = before.slots.compactMap { $0?.referringWeakly }
        let fresh = present.map { (WeakReference($0.listener), $0.dispatcher) as Ended }
        ended =
            before.ended
            ?? Dictionary(grouping: zip(present, fresh), by: { $0.0.listener.identity })
            .mapValues { $0.map(\.1) }
        retained = nil
        return before
    }

    /// The listeners of an object that ended with their channel, in a buffer of their own.
    func ended(of identity: ObjectIdentifier) -> [Ended] {
        ended?[identity]?.withUnsafeBufferPointer { Array($0) } ?? []
    }

    /// Exchanges the listeners that ended, to be released after the lock.
    mutating func exchangeEnded(_ other: inout [ObjectIdentifier: [Ended]]?) { swap(&ended, &other) }

    /// Removes and returns an object's listeners that ended, if none of them exists any more.
    mutating func removeEnded(of identity: ObjectIdentifier) -> [Ended]? {
        ended?.removeValue(forKey: identity)
    }

    /// Removes all listeners, and returns the state before, to be released after the lock.
    mutating func removeAll() -> ListenerSlots {
        defer { self = ListenerSlots(retained: retained, ended: ended) }
        return self
    }

    /// The registrations of an object, in a buffer of their own.
    func registrations(of identity: ObjectIdentifier) -> [Registration] {
        index[identity]?.withUnsafeBufferPointer { Array($0) } ?? []
    }

    /// Removes listeners from slots and index. Returns their registrations, to be released after the lock.
    mutating func unlink(_ listeners: [Listener]) -> [Registration] {
        var unlinked: [Registration] = []
        for listener in listeners {
            if slots.indices.contains(listener.slot), slots[listener.slot]?.listener === listener {
                sorted = nil
                slots[listener.slot] = nil
                occupied -= 1
            }
            let place = listener.placeInIndex
            guard let entry = index.index(forKey: listener.identity),
                index.values[entry].indices.contains(place), index.values[entry][place].listener === listener
            else { continue }
            unlinked.append(index.values[entry][place])
            // The last registration of the same object takes its place; their order has no meaning.
            let last = index.values[entry].removeLast()
            if index.values[entry].isEmpty {
                index.remove(at: entry)
            } else if last.listener !== listener {
                index.values[entry][place] = last
                last.listener.placeInIndex = place
            }
        }
        sweepAt = max(Self.smallestSweep, min(sweepAt, 2 * occupied))
        if isSparse { _ = snapshot() }
        return unlinked
    }
}
