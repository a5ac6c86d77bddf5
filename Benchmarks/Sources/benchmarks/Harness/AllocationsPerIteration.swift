import AllocationCounter

/// The heap allocations of one iteration of a contender.
struct AllocationsPerIteration {
    let allocations: Double
    let bytes: Double
    let liveBytes: Double

    /// Subtracts the count of a shorter run from that of a longer one, so that what a sample allocates once
    /// (its sink, an array, a task) does not count. Nil where the allocator cannot be counted.
    init?(of contender: Contender, in workload: Workload) throws {
        guard allocation_counting_is_available() else { return nil }
        // The first run is not counted: it includes what the process allocates once, such as metadata.
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
        let stopwatch = Stopwatch(contender.timebase, counts: .allocations)
        try run(contender, iterations, stopwatch, of: workload)
        return stopwatch.counts
    }
}
