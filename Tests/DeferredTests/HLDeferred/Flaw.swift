import Deferred
import TestSupport

/// An error identified by its text.
enum Flaw: Error, Equatable {
    case flaw(String)
}

extension SharedLog<String> {
    /// Adds an entry and returns `value`, for callbacks of one line.
    func add(_ entry: String, andReturn value: String) -> String {
        add(entry)
        return value
    }
}

extension Deferred {
    var currentSuccess: Value? {
        if case .success(let value)? = currentResult { value } else { nil }
    }

    var currentFailure: (any Error)? {
        if case .failure(let error)? = currentResult { error } else { nil }
    }
}
