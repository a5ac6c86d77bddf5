/// The time and memory that one contender used for one item.
struct Measurement: Codable {
    let library: Library
    let median: Double
    let minimum: Double
    let samples: Int
    /// Heap blocks and bytes allocated, and bytes still allocated at the end of the measured part; nil where
    /// this platform's allocator cannot be counted.
    let allocations: Double?
    let bytes: Double?
    let liveBytes: Double?
}

/// The ratio of Deferred's time to one peer's: the median over the rounds, each ratio taken within one round.
struct Ratio: Codable {
    let peer: Library
    let median: Double
    /// The ratio of the shortest times.
    let minimum: Double
}

/// A workload with its measurements.
struct WorkloadResult: Codable {
    let workload: String
    let title: String
    let unit: String
    let payload: String
    let target: Target?
    let measurements: [Measurement]
    let ratios: [Ratio]

    /// The fastest peer.
    var best: Ratio? {
        let peers = measurements.filter { $0.library != .deferred }
        guard let best = peers.min(by: { $0.median < $1.median }) else { return nil }
        return ratio(to: best.library)
    }

    func ratio(to peer: Library) -> Ratio? {
        ratios.first { $0.peer == peer }
    }

    /// Whether the target was met, if there is one and its peer was measured.
    var meetsTarget: Bool? {
        guard let target, let limit = target.limit, let ratio = ratio(to: target.peer) else { return nil }
        return ratio.median <= limit
    }
}
