import Synchronization

/// Counts numbers, and sums them up in two ways: of two different sets, one of the three differs, but for a chance of one
/// in 2^64.
final class Tally: Sendable {
    struct Sum: Equatable, Sendable {
        var count = 0
        var sum: UInt64 = 0
        var mixed: UInt64 = 0

        func merged(_ other: Sum) -> Sum {
            Sum(count: count + other.count, sum: sum &+ other.sum, mixed: mixed &+ other.mixed)
        }
    }

    private let count = Atomic(0)
    private let sum = Atomic<UInt64>(0)
    private let mixed = Atomic<UInt64>(0)

    func add(_ number: Int) {
        count.add(1, ordering: .relaxed)
        sum.wrappingAdd(UInt64(number), ordering: .relaxed)
        mixed.wrappingAdd(mix(UInt64(number)), ordering: .relaxed)
    }

    var total: Sum {
        Sum(
            count: count.load(ordering: .acquiring), sum: sum.load(ordering: .acquiring),
            mixed: mixed.load(ordering: .acquiring))
    }
}

/// The last steps of SplitMix64.
func mix(_ number: UInt64) -> UInt64 {
    var z = number &+ 0x9E37_79B9_7F4A_7C15
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
}

/// A source of numbers that looks random, for one thread.
struct Chance {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Int(mix(state) % UInt64(bound))
    }
}

/// What one thread puts in and others cancel. The oldest is replaced.
final class Ring<Element: Sendable>: Sendable {
    private let slots: [Slot]

    /// A box, since an array has no elements that cannot be copied.
    private final class Slot: Sendable {
        let element = Mutex<Element?>(nil)
    }

    init(_ size: Int) { slots = (0..<size).map { _ in Slot() } }

    var size: Int { slots.count }

    func exchange(_ element: Element?, at index: Int) -> Element? {
        slots[index % slots.count].element.withLock { slot in
            let old = slot
            slot = element
            return old
        }
    }

    subscript(index: Int) -> Element? { slots[index % slots.count].element.withLock { $0 } }
}
