internal import Synchronization

/// The bits of a link's word. The rest of it is the address of the last link in the list (objects are aligned
/// to 16).
enum Word {
    /// The spin lock: `Atomic.lockLowestBit()`, and `beginStepInPlace`.
    static let locked: UInt = 1
    /// The link has its outcome.
    static let settled: UInt = 2
    /// A drain loop notifies the consumers in the list, or has yet to.
    static let draining: UInt = 4
    /// The link is paused: no consumer is notified.
    static let paused: UInt = 8
    static let flags: UInt = 15
}

extension Link {
    /// Takes the lock and returns the word without the lock bit.
    @inline(__always)
    func lock() -> UInt { word.lockLowestBit() }

    /// Publishes `new` as the word and releases the lock.
    @inline(__always)
    func unlock(_ new: UInt) {
        assert(new & Word.locked == 0, "the new word releases the lock")
        keepRetainsBefore()
        word.store(new, ordering: .releasing)
    }

    /// Runs `body` under the lock, for paths where a closure's cost does not matter.
    @inline(__always)
    func locked<R>(_ body: () -> R) -> R {
        let word = lock()
        defer { unlock(word) }
        return body()
    }

    var isPaused: Bool { word.load(ordering: .relaxed) & Word.paused != 0 }

    /// Whether the link is settled, not paused, and has no consumer left to notify.
    static func isIdle(_ word: UInt) -> Bool {
        word & (Word.settled | Word.draining | Word.paused) == Word.settled
    }
}

// MARK: - The list

/// The list of the links that wait for one link, in the order attached: circular, with the address of its
/// last link in the word, so that appending and taking the list are both one step.
///
/// The unsafe operations on lists and queues are sound because of three invariants:
///
/// - **The list has one reference to each link in it**, made by `append`. The code that removes a link from
///   the list, or takes the list (`ConsumerQueue`), takes over its reference. So the address of a link in a
///   list or queue is valid.
/// - **`next` of a link in a list is accessed under the lock of the list's link**; that of a link in a queue
///   by the drain loop that owns the queue. A link is in one list or queue at most.
/// - **No reference is released under the lock**, unless the caller has another one: its `deinit` might be a
///   user's.
///
/// A link also has the address of the one before it, so that one can be unlinked wherever it is.
extension Unmanaged<Link> {
    // `_withUnsafeGuaranteedRef` keeps the compiler from retaining each link that is passed.

    /// The next link in the list or queue.
    fileprivate var next: Unmanaged<Link>? {
        @inline(__always) get { _withUnsafeGuaranteedRef { $0.next } }
        @inline(__always) nonmutating set { _withUnsafeGuaranteedRef { $0.next = newValue } }
    }

    /// The link before this one in the list; meaningless for the first.
    fileprivate var previous: Unmanaged<Link>? {
        @inline(__always) get { _withUnsafeGuaranteedRef { $0.previous } }
        @inline(__always) nonmutating set { _withUnsafeGuaranteedRef { $0.previous = newValue } }
    }

    /// Whether there is one reference to the link.
    var isUniquelyReferenced: Bool {
        var own = self
        return withUnsafeMutablePointer(to: &own) {
            // Sound: an `Unmanaged` has the layout of the reference that it stands for.
            $0.withMemoryRebound(to: Link.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
        }
    }

    /// The address of this link, as it stands in a word.
    fileprivate var address: UInt { UInt(bitPattern: toOpaque()) }
}

/// Sound by the three invariants above.
extension Link {
    /// The last link in the list of `word`.
    ///
    /// Sound: the bits of a word that are not flags are the address of a link, or 0.
    static func last(in word: UInt) -> Unmanaged<Link>? {
        UnsafeRawPointer(bitPattern: word & ~Word.flags).map { Unmanaged.fromOpaque($0) }
    }

    /// Returns the word with `link`, which is in no list, appended to the list in `word`. Under the lock.
    @inline(__always)
    static func append(_ link: Link, to word: UInt) -> UInt {
        relink(Unmanaged.passRetained(link), to: word)
    }

    /// As `append`, with a reference that the list takes over.
    @inline(__always)
    private static func relink(_ added: Unmanaged<Link>, to word: UInt) -> UInt {
        assert(added.next == nil, "a link is in one list or queue at most")
        if let last = last(in: word) {
            added.next = last.next
            added.previous = last
            last.next = added
        } else {
            added.next = added
        }
        return added.address | (word & Word.flags)
    }

    /// The only link in the list of `word`. Under the lock.
    static func only(in word: UInt) -> Unmanaged<Link>? {
        guard let last = last(in: word), let first = last.next, first.address == last.address else {
            return nil
        }
        return last
    }

    /// Returns the word with `consumers` put back before the list in `word`. Under the lock.
    static func prepend(_ consumers: ConsumerQueue, to word: UInt) -> UInt {
        guard let first = consumers.first else { return word }
        var end = first
        while let next = end.next { end = next }
        if let last = last(in: word), let second = last.next {
            end.next = second
            second.previous = end
            last.next = first
            return word
        }
        end.next = first
        return end.address | (word & Word.flags)
    }

    /// Whether `predicate` is true of a link in the list, which it is called with until it is. Under the
    /// lock.
    static func contains(in word: UInt, where predicate: (Link) -> Bool) -> Bool {
        guard let last = last(in: word) else { return false }
        var current = last
        while let next = current.next {
            if next._withUnsafeGuaranteedRef(predicate) { return true }
            if next.address == last.address { return false }
            current = next
        }
        return false
    }

    /// Removes and returns the first link in the list of `word`, with the list's reference. Under the lock.
    static func removeFirst(from word: inout UInt) -> Unmanaged<Link>? {
        guard let last = last(in: word), let first = last.next else { return nil }
        if first.address == last.address { word &= Word.flags } else { last.next = first.next }
        first.next = nil
        return first
    }

    /// Runs `body` with each link in the list. Under the lock.
    static func forEach(in word: UInt, _ body: (Link) -> Void) {
        _ = contains(in: word) { link in
            body(link)
            return false
        }
    }
}

extension Link {
    /// Takes the first consumer out of the list of this locked link, and unlocks that.
    func takeFirst(_ word: UInt) -> ConsumerQueue {
        var rest = word
        let first = Link.removeFirst(from: &rest)
        unlock(rest)
        return ConsumerQueue(first: first)
    }

    /// Removes the consumers from the list of `word` that were interrupted, and returns them. Under the lock.
    static func removeInterrupted(from word: inout UInt) -> ConsumerQueue {
        var (kept, removed): ([Unmanaged<Link>], [Unmanaged<Link>]) = ([], [])
        var all = ConsumerQueue(takenFrom: word)
        while let consumer = all.removeFirst() {
            let isInterrupted = consumer._withUnsafeGuaranteedRef { link in
                link.locked { link.phase == .waiting && link.isInterrupted }
            }
            if isInterrupted { removed.append(consumer) } else { kept.append(consumer) }
        }
        word = kept.reduce(word & Word.flags) { relink($1, to: $0) }
        return ConsumerQueue(takenFrom: removed.reduce(0) { relink($1, to: $0) })
    }
}

/// The consumers that a drain loop has taken from a link's list and has yet to notify, with the list's
/// references. Sound by the three invariants above.
struct ConsumerQueue {
    fileprivate(set) var first: Unmanaged<Link>?

    fileprivate init(first: Unmanaged<Link>?) { self.first = first }

    /// Takes the list in `word`. Under the lock; the caller publishes a word without the list.
    @inline(__always)
    init(takenFrom word: UInt) {
        guard let last = Link.last(in: word) else {
            first = nil
            return
        }
        assert(last.next != nil, "a list is circular")
        first = last.next
        last.next = nil
    }

    var isEmpty: Bool { first == nil }

    /// Removes the first link, with its reference.
    @inline(__always)
    mutating func removeFirst() -> Unmanaged<Link>? {
        guard let taken = first else { return nil }
        first = taken.next
        taken.next = nil
        return taken
    }
}

// MARK: - Detaching

extension Link {
    /// What a cancel that comes from a consumer finds here.
    enum Consumption {
        /// There is no other consumer: this link is to be cancelled, too.
        case only
        /// As `only`; but this pending link is paused, and would hold the error back (P1).
        case paused
        /// The consumer alone is to be cancelled: there are others, or a pause suspends this link's outcome.
        case shared
        /// The consumer is about to be notified.
        case settled
        case alreadyDetached, bypassed
    }

    /// Under this link's lock, in which what is found is acted upon, so that of two that leave at once one is the last.
    ///
    /// - Parameter always: Whether the consumer is to be detached even if it is the last.
    func consumption(by consumer: Link, _ word: UInt, always: Bool) -> Consumption {
        if phase == .bypassed { return .bypassed }
        if consumer.isDetached { return .alreadyDetached }
        if word & Word.settled != 0 { return isSuspended ? .shared : .settled }
        let isShared = Link.contains(in: word, where: { $0 !== consumer && !$0.onlyObserves })
        if always || isShared { return .shared }
        return word & Word.paused == 0 ? .only : .paused
    }

    /// Detaches a consumer, which the caller retains, from this locked link, and unlocks that.
    func detach(_ consumer: Link, _ word: UInt, byCancel: Bool = false) {
        var word = word
        consumer.set(byCancel ? Link.Flags.isDetached | Link.Flags.isDetachedByCancel : Link.Flags.isDetached)
        Link.unlink(consumer, from: &word)
        unlock(word)
    }

    /// Detaches a consumer. Returns false if it is about to be notified, or was detached before.
    func detach(_ consumer: Link) -> Bool {
        let word = lock()
        guard consumption(by: consumer, word, always: true) == .shared else {
            unlock(word)
            return false
        }
        detach(consumer, word)
        return true
    }

    /// Unlinks a consumer, which the caller retains, from the list of `word`, unless its thread has yet to
    /// append it. Under the lock. Sound: of the references to the consumer, the list's is not the last.
    private static func unlink(_ consumer: Link, from word: inout UInt) {
        let own = Unmanaged.passUnretained(consumer)
        guard let last = last(in: word), let first = last.next, let next = own.next else { return }
        let previous = first.address == own.address ? last : own.previous
        own.next = nil
        if next.address == own.address {
            word &= Word.flags
        } else if let previous {
            previous.next = next
            next.previous = previous
            if last.address == own.address { word = previous.address | (word & Word.flags) }
        }
        own.release()
    }
}
