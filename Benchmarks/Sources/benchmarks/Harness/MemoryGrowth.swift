import AllocationCounter

/// Measures the allocated bytes in the middle of W7's recursion. They are independent of the length of the
/// loop if finished steps are released.
struct MemoryGrowth: Codable {
    let library: Library
    let steps: Int
    let heldBytes: Int

    static func measure(longest: Int) throws -> [MemoryGrowth] {
        guard allocation_counting_is_available() else { return [] }
        var all: [MemoryGrowth] = []
        var steps = 1_000
        while steps <= longest {
            all.append(
                try measure(.deferred, steps) { try Recursion<Int>.deferred(steps, 1, $0, halfway: $1) })
            #if Peers
            // NIO's memory grows with each step; a million steps show it.
            if steps <= 1_000_000 {
                all.append(
                    try measure(.embedded, steps) {
                        try Recursion<Int>.nio(EventLoops.embedded, steps, 1, $0, halfway: $1)
                    })
            }
            #endif
            steps *= 10
        }
        return all
    }

    private static func measure(
        _ library: Library, _ steps: Int, _ body: (Stopwatch, () -> Void) throws -> Void
    ) throws -> MemoryGrowth {
        var held = 0
        try body(Stopwatch(.thread, counts: .allocations)) { held = Int(allocation_counting_read().live) }
        return MemoryGrowth(library: library, steps: steps, heldBytes: held)
    }
}
