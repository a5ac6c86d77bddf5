import Deferred

/// What happened, in order, from any thread.
final class EventLog: Sendable {
    private let entries = Guarded<[String]>([])
    var all: [String] { entries.withLock { $0 } }
    func add(_ entry: String) { entries.withLock { $0.append(entry) } }
}
