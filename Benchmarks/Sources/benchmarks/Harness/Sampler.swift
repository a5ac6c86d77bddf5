import AllocationCounter
import Comparing

/// Takes the samples of one workload, alternating between the contenders round by round.
///
/// The load of the machine changes from one second to the next; samples taken within some milliseconds see
/// the same load. So each round takes one short sample of every contender, starting with another contender
/// each time, and ratios are taken within a round.
struct Sampler {
    /// The target length of a sample, in nanoseconds. (One iteration may take longer.)
    let sampleTime: Double
    /// The time limit for all samples of one contender, in nanoseconds.
    let budget: Double
    let rounds: ClosedRange<Int>

    static let full = Sampler(sampleTime: 2_500_000, budget: 500_000_000, rounds: 7...181)
    static let quick = Sampler(sampleTime: 1_500_000, budget: 40_000_000, rounds: 5...21)

    func measure(_ workload: Workload) throws -> WorkloadResult {
        if workload.onOneProcessor { _ = processor_pinning_set(true) }
        defer { if workload.onOneProcessor { _ = processor_pinning_set(false) } }

        var series = try workload.contenders.map { try calibrate($0, of: workload) }
        let last = series.map(\.rounds).max() ?? 0
        for round in 0..<last {
            for offset in series.indices {
                let index = (round + offset) % series.count
                try series[index].sample(round: round, of: last)
            }
        }
        return WorkloadResult(
            workload: workload.name, title: workload.title, unit: workload.unit, payload: workload.payload,
            target: workload.target, measurements: try series.map { try $0.measurement(of: workload) },
            ratios: ratios(in: series))
    }

    /// Determines how many iterations make up a sample. This also warms up the contender.
    private func calibrate(_ contender: Contender, of workload: Workload) throws -> Series {
        var iterations = 1
        while true {
            let stopwatch = Stopwatch(contender.timebase)
            try run(contender, iterations, stopwatch, of: workload)
            let time = Double(max(stopwatch.nanoseconds, 1))
            if time >= sampleTime / 4 || iterations >= 1 << 24 {
                let wanted = Int(Double(iterations) * sampleTime / time)
                let sample = max(time, time * Double(max(wanted, 1)) / Double(iterations))
                let affordable = Int(budget / sample)
                return Series(
                    contender: contender, iterations: max(wanted, 1),
                    rounds: min(max(affordable, rounds.lowerBound), rounds.upperBound))
            }
            iterations *= 2
        }
    }

    private func ratios(in series: [Series]) -> [Ratio] {
        guard let own = series.first(where: { $0.contender.library == .deferred }) else { return [] }
        return series.filter { $0.contender.library != .deferred }.compactMap { peer in
            let pairs = own.times.compactMap { round, time in peer.times[round].map { time / $0 } }
            guard let middle = median(pairs), let ownLeast = own.times.values.min(),
                let peerLeast = peer.times.values.min()
            else { return nil }
            return Ratio(peer: peer.contender.library, median: middle, minimum: ownLeast / peerLeast)
        }
    }
}

/// Runs one sample. An error names the workload and the contender.
func run(
    _ contender: Contender, _ iterations: Int, _ stopwatch: Stopwatch, of workload: Workload
) throws {
    do {
        try contender.body(iterations, stopwatch)
    } catch {
        throw WrongResult(
            description: "\(workload.name) (\(workload.payload)), \(contender.library.rawValue): \(error)")
    }
}

/// One contender's samples: nanoseconds per item, by round.
private struct Series {
    let contender: Contender
    let iterations: Int
    /// The number of rounds in which this contender is measured; a slow one skips some.
    let rounds: Int
    var times: [Int: Double] = [:]

    mutating func sample(round: Int, of last: Int) throws {
        guard (round + 1) * rounds / last != round * rounds / last else { return }
        let stopwatch = Stopwatch(contender.timebase)
        try contender.body(iterations, stopwatch)
        times[round] = Double(stopwatch.nanoseconds) / Double(iterations * contender.items)
    }

    func measurement(of workload: Workload) throws -> Measurement {
        let counts = try AllocationsPerIteration(of: contender, in: workload)
        let items = Double(contender.items)
        return Measurement(
            library: contender.library, median: median(Array(times.values)) ?? 0,
            minimum: times.values.min() ?? 0, samples: times.count,
            allocations: counts.map { $0.allocations / items }, bytes: counts.map { $0.bytes / items },
            liveBytes: counts.map { $0.liveBytes / items })
    }
}
