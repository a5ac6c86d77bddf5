/// The links that wait for one link, in the order in which they were attached: a ring known by its last,
/// whose address is in the word, so that appending and taking the first are both one step. The list retains
/// each link in it once.
extension Link {
    @inline(__always)
    static func last(in word: UInt) -> Unmanaged<Link>? {
        UnsafeRawPointer(bitPattern: word & ~Word.flags).map { Unmanaged.fromOpaque($0) }
    }

    /// The word with `link`, which stands in no list, appended to the list in `word`. Under the lock.
    @inline(__always)
    static func append(_ link: Link, to word: UInt) -> UInt {
        let added = Unmanaged.passRetained(link)
        if let last = last(in: word) {
            last._withUnsafeGuaranteedRef { lastLink in
                link.next = lastLink.next
                lastLink.next = added
            }
        } else {
            link.next = added
        }
        return UInt(bitPattern: added.toOpaque()) | (word & Word.flags)
    }

    /// The word with `batch` put back before the list in `word`. Under the lock.
    static func prepend(_ batch: Batch, to word: UInt) -> UInt {
        guard let first = batch.first else { return word }
        var end = first
        while let next = end._withUnsafeGuaranteedRef({ $0.next }) { end = next }
        if let last = last(in: word) {
            let oldFirst = last._withUnsafeGuaranteedRef { $0.next }
            end._withUnsafeGuaranteedRef { $0.next = oldFirst }
            last._withUnsafeGuaranteedRef { $0.next = first }
            return word
        }
        end._withUnsafeGuaranteedRef { $0.next = first }
        return UInt(bitPattern: end.toOpaque()) | (word & Word.flags)
    }

    /// The consumers in the list of this one, retained. For searches, not for telling. Under the lock.
    func listed(in word: UInt) -> [Link] {
        var all: [Link] = []
        if let first = firstListed(in: word, others: &all) { all.insert(first, at: 0) }
        return all
    }

    /// The first consumer in the list of this one; those after it are appended to `others`. Under the lock.
    func firstListed(in word: UInt, others: inout [Link]) -> Link? {
        guard let last = Link.last(in: word) else { return nil }
        var first: Link?
        var current = last
        repeat {
            guard let next = current._withUnsafeGuaranteedRef({ $0.next }) else { break }
            current = next
            let link = current.takeUnretainedValue()
            if link.withdrawn { continue }
            if first == nil { first = link } else { others.append(link) }
        } while current.toOpaque() != last.toOpaque()
        return first
    }
}

/// Links that a frame has taken from a list and will tell; each is still retained once.
struct Batch {
    fileprivate(set) var first: Unmanaged<Link>?

    static var empty: Batch { Batch(first: nil) }

    private init(first: Unmanaged<Link>?) { self.first = first }

    /// Takes the list out of a word. Under the lock; the caller publishes a word without it.
    @inline(__always)
    init(takenFrom word: UInt) {
        first = Link.last(in: word).map { last in
            last._withUnsafeGuaranteedRef { lastLink in
                let first = lastLink.next!
                lastLink.next = nil
                return first
            }
        }
    }

    var isEmpty: Bool { first == nil }

    /// Hands over the first link and the reference that the list had to it.
    @inline(__always)
    mutating func removeFirst() -> Unmanaged<Link>? {
        guard let taken = first else { return nil }
        taken._withUnsafeGuaranteedRef {
            first = $0.next
            $0.next = nil
        }
        return taken
    }

    /// Runs `body` for each without taking it out.
    func forEach(_ body: (Link) -> Void) {
        var current = first
        while let link = current {
            link._withUnsafeGuaranteedRef {
                body($0)
                current = $0.next
            }
        }
    }
}

// MARK: - Withdrawing

/// A link has no way to its predecessor in the list. One that withdraws is looked for among the first few
/// hundred and unlinked; in a longer list it stays, marked, until the list is told or swept, so that a run of
/// cancels is linear.
extension Link {
    /// Whether anybody but `consumer`, the caller, consumes this pending link. Under the lock.
    ///
    /// Those that withdrew are unlinked on the way, which keeps a run of cancels linear whichever end it
    /// starts from; the caller releases them (`dropped`) once it has unlocked.
    func hasConsumer(besides consumer: Link, word: inout UInt, dropped: inout [Unmanaged<Link>]) -> Bool {
        guard let last = Link.last(in: word) else { return false }
        var previous = last
        while let current = previous._withUnsafeGuaranteedRef({ $0.next }) {
            let (withdrawn, isOther) = current._withUnsafeGuaranteedRef {
                ($0.withdrawn, $0 !== consumer && !$0.onlyObserves)
            }
            if !withdrawn && isOther { return true }
            let isLast = current.toOpaque() == Link.last(in: word)?.toOpaque()
            if withdrawn && !isLast {
                previous._withUnsafeGuaranteedRef { p in p.next = current._withUnsafeGuaranteedRef { $0.next }
                }
                dropped.append(current)
            } else {
                previous = current
            }
            if isLast { return false }
        }
        return false
    }

    /// Takes a consumer that withdrew, and that the caller holds, out of the list if it is found soon. Under
    /// the lock.
    func unlink(_ consumer: Link, word: inout UInt) -> Bool {
        guard let last = Link.last(in: word) else { return false }
        let sought = Unmanaged.passUnretained(consumer).toOpaque()
        var previous = last
        for _ in 0..<256 {
            guard let current = previous._withUnsafeGuaranteedRef({ $0.next }) else { return false }
            if current.toOpaque() == sought {
                let next = consumer.next
                consumer.next = nil
                if current.toOpaque() == previous.toOpaque() {
                    word &= Word.flags
                } else {
                    previous._withUnsafeGuaranteedRef { $0.next = next }
                    if current.toOpaque() == last.toOpaque() {
                        word = UInt(bitPattern: previous.toOpaque()) | (word & Word.flags)
                    }
                }
                current.release()
                return true
            }
            if current.toOpaque() == last.toOpaque() { return false }
            previous = current
        }
        return false
    }

    /// Counts a withdrawal from this link's list, and sweeps the list when those that withdrew are the half
    /// of it, so that one long-lived link with many short-lived consumers stays small.
    func noteWithdrawal() {
        let rare = ensureRare()
        var word = lock()
        rare.withdrawals += 1
        guard word & Word.settled == 0, rare.withdrawals >= rare.nextSweep else { return unlock(word) }
        var kept = 0
        var swept: Unmanaged<Link>?
        let batch = Batch(takenFrom: word)
        word &= Word.flags
        var end: Unmanaged<Link>?
        var current = batch.first
        while let link = current {
            current = link._withUnsafeGuaranteedRef { $0.next }
            if link._withUnsafeGuaranteedRef({ $0.withdrawn }) {
                link._withUnsafeGuaranteedRef { $0.next = swept }
                swept = link
            } else {
                kept += 1
                if let end {
                    link._withUnsafeGuaranteedRef { added in
                        end._withUnsafeGuaranteedRef {
                            added.next = $0.next
                            $0.next = link
                        }
                    }
                } else {
                    link._withUnsafeGuaranteedRef { $0.next = link }
                }
                end = link
                word = UInt(bitPattern: link.toOpaque()) | (word & Word.flags)
            }
        }
        rare.withdrawals = 0
        rare.nextSweep = max(Rare.leastSweep, kept)
        unlock(word)
        while let link = swept {
            let released = link.takeRetainedValue()
            swept = released.next
            released.next = nil
        }
    }
}
