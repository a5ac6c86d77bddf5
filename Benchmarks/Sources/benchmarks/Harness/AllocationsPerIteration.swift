import AllocationCounter

/// What one iteration of a contender asks of the heap.
struct AllocationsPerIteration {
    let allocations: Double
    let bytes: Double
    let liveBytes: Double

    /// Counts a longer run less a shorter one, which leaves out what a sample needs once (its sink, an array,
    /// a task to run in). Nil where the allocator can't be counted.
    init?(of contender: Contender, in workload: Workload) throws {
        guard allocation_counting_is_available() else { return nil }
        // The first run leaves out what the process needs once: metadata, the allocator's own set-up.
        _ = try Self.counts(of: contender, 1, in: workload)
        let shorter = max(1, min(64, 2_000 / contender.items))
        let less = try Self.counts(of: contender, shorter, in: workload)
        let more = try Self.counts(of: contender, 2 * shorter, in: workload)
        allocations = Double(more.allocations - less.allocations) / Double(shorter)
        bytes = Double(more.bytes - less.bytes) / Double(shorter)
        liveBytes = Double(more.live - less.live) / Double(shorter)
    }

    private static func counts(
        of contender: Contender, _ iterations: Int, in workload: Workload
    ) throws -> allocation_counts {
        let stopwatch = Stopwatch(contender.timebase, countsAllocations: true)
        try run(contender, iterations, stopwatch, of: workload)
        return stopwatch.counts
    }
}
