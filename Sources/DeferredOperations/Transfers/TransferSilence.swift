internal import Foundation

/// How long nothing has arrived, in ticks of a timer: each piece of a body only sets a flag.
struct TransferSilence {
    /// How many ticks are as long as the limit.
    static let ticks = 8

    /// How long a silence is allowed; nil for any.
    let limit: Duration?
    private var wasHeard = false
    private var silentTicks = 0

    init(_ limit: Duration?) { self.limit = limit }

    /// Notes that something has arrived.
    mutating func end() { wasHeard = true }

    /// Begins a new count, for another request. What has arrived since the last tick still counts at the next one.
    mutating func restart() { silentTicks = 0 }

    /// Counts a tick, and returns the limit if that has been reached.
    ///
    /// - Parameter counts: Whether the time since the last tick counts as silence, if nothing has arrived in it.
    mutating func tick(counts: Bool) -> Duration? {
        silentTicks = wasHeard || !counts ? 0 : silentTicks + 1
        wasHeard = false
        return silentTicks >= Self.ticks ? limit : nil
    }
}

extension URLRequest {
    /// The silence that the request itself allows, 60 s if it says 0 or less; nil for any.
    var silenceTimeout: Duration? {
        guard timeoutInterval.isFinite, timeoutInterval < 1e9 else { return nil }
        return .seconds(timeoutInterval > 0 ? timeoutInterval : 60)
    }
}
