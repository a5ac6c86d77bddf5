import Synchronization

/// A stack of slots with numbers, without locks. A slot that was taken may be put back.
///
/// Without tags it has the ABA fault: a slot that was taken and put back meanwhile looks as if nothing had changed.
final class LockFreeStack: Sendable {
    private final class Node: Sendable {
        /// The slot below, plus one; 0 for none.
        let below = Atomic<Int>(0)
    }

    private let nodes: [Node]
    private let isTagged: Bool
    /// The first slot, plus one, in the lower bits; how often it has changed in the upper ones.
    private let top = Atomic<Int>(0)

    init(slots: Int, isTagged: Bool) {
        nodes = (0..<slots).map { _ in Node() }
        self.isTagged = isTagged
    }

    func push(_ slot: Int) {
        while true {
            let seen = top.load(ordering: .acquiring)
            nodes[slot].below.store(seen & 0xff, ordering: .relaxed)
            if change(seen, to: slot + 1) { return }
        }
    }

    func pop() -> Int? {
        while true {
            let seen = top.load(ordering: .acquiring)
            guard seen & 0xff != 0 else { return nil }
            let slot = seen & 0xff - 1
            if change(seen, to: nodes[slot].below.load(ordering: .relaxed)) { return slot }
        }
    }

    private func change(_ seen: Int, to slot: Int) -> Bool {
        let tag = isTagged ? seen & ~0xff + 0x100 : 0
        return top.compareExchange(expected: seen, desired: tag | slot, ordering: .acquiringAndReleasing)
            .exchanged
    }
}
