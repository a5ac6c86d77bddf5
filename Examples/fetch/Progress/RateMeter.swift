/// Measures a rate over the last few seconds, so that it follows changes without jumping.
struct RateMeter: Sendable {
    private struct Sample {
        let time: Duration
        let amount: Int64
    }

    private static let span = Duration.seconds(4)
    private static let step = Duration.milliseconds(250)

    private var samples: [Sample] = []
    private var latest: Sample?

    /// Adds a sample. A lower amount than the last one, after a download has started over, resets the
    /// meter.
    mutating func record(_ amount: Int64, at time: Duration) {
        if let latest, amount < latest.amount { samples = [] }
        let sample = Sample(time: time, amount: amount)
        latest = sample
        guard let last = samples.last, time - last.time < Self.step else {
            samples.append(sample)
            if let kept = samples.lastIndex(where: { time - $0.time >= Self.span }), kept > 0 {
                samples.removeFirst(kept)
            }
            return
        }
    }

    /// Returns the rate per second at `time`; nil before there are enough samples.
    func rate(at time: Duration) -> Double? {
        guard let first = samples.last(where: { time - $0.time >= Self.span }) ?? samples.first, let latest,
            time > first.time
        else { return nil }
        return Double(latest.amount - first.amount) / ((time - first.time) / .seconds(1))
    }
}
