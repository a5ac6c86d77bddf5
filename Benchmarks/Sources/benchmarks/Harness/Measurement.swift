/// What one contender was seen to take for one item.
struct Measurement: Codable {
    let library: Library
    let median: Double
    let minimum: Double
    let samples: Int
    /// Heap blocks and bytes asked for, and bytes still held at the end of the measured part; nil where this
    /// platform's allocator can't be counted.
    let allocations: Double?
    let bytes: Double?
    let liveBytes: Double?
}

/// How Deferred compares with one peer: the median, over the rounds, of its time by the peer's in the same
/// round.
struct Ratio: Codable {
    let peer: Library
    let median: Double
    /// Least time by least time.
    let minimum: Double
}

/// A workload with what came of it.
struct Outcome: Codable {
    let workload: String
    let title: String
    let unit: String
    let payload: String
    let target: Target?
    let measurements: [Measurement]
    let ratios: [Ratio]

    /// The peer that took least time.
    var best: Ratio? {
        let peers = measurements.filter { $0.library != .deferred }
        guard let best = peers.min(by: { $0.median < $1.median }) else { return nil }
        return ratio(to: best.library)
    }

    func ratio(to peer: Library) -> Ratio? {
        ratios.first { $0.peer == peer }
    }

    /// Whether the target was met, if there is one and its peer took part.
    var meetsTarget: Bool? {
        guard let target, let ratio = ratio(to: target.peer) else { return nil }
        return ratio.median <= target.limit
    }
}
