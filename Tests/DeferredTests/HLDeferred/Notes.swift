import Deferred
import Synchronization

/// What happened, in order.
final class Notes: Sendable {
    private let notes = Mutex<[String]>([])

    var all: [String] { notes.withLock { $0 } }

    func add(_ note: String) {
        notes.withLock { $0.append(note) }
    }

    /// Notes and gives `value` back, for callbacks of one line.
    func add(_ note: String, andReturn value: String) -> String {
        add(note)
        return value
    }
}

/// An error known by its text.
enum Flaw: Error, Equatable {
    case flaw(String)
}

extension Deferred {
    var currentSuccess: Value? {
        if case .success(let value)? = currentResult { value } else { nil }
    }

    var currentFailure: (any Error)? {
        if case .failure(let error)? = currentResult { error } else { nil }
    }
}
