internal import Synchronization

/// The bits of a link's word. The rest of it is the address of the last link in the list (objects are aligned
/// to 16).
enum Word {
    static let locked: UInt = 1
    /// Has its outcome.
    static let settled: UInt = 2
    /// A frame is telling, or has yet to tell, those in the list.
    static let busy: UInt = 4
    static let paused: UInt = 8
    static let flags: UInt = 15
}

extension Link {
    /// Takes the lock and gives the word as it was, without the lock bit.
    ///
    /// Acquiring here and releasing in `unlock` order everything that happens under the lock of one link.
    @inline(__always)
    func lock() -> UInt {
        let seen = word.load(ordering: .relaxed) & ~Word.locked
        if word.compareExchange(expected: seen, desired: seen | Word.locked, ordering: .acquiring).exchanged {
            return seen
        }
        return lockContended()
    }

    /// Publishes `new` as the word and lets the lock go.
    @inline(__always)
    func unlock(_ new: UInt) {
        keepRetainsBefore()
        word.store(new, ordering: .releasing)
    }

    @inline(never)
    private func lockContended() -> UInt {
        var backoff = Backoff()
        while true {
            let seen = word.load(ordering: .relaxed)
            if seen & Word.locked == 0,
                word.compareExchange(expected: seen, desired: seen | Word.locked, ordering: .acquiring)
                    .exchanged
            {
                return seen
            }
            backoff.pause()
        }
    }

    /// Runs `body` under the lock, for paths where a closure's cost does not matter.
    @inline(__always)
    func locked<R>(_ body: () -> R) -> R {
        let word = lock()
        defer { unlock(word) }
        return body()
    }
}
