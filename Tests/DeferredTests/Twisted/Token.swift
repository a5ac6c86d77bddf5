import Deferred

/// A value of a scenario. Scenarios are untyped, so one type represents every value.
indirect enum Token: Sendable, CustomStringConvertible {
    case word(String)
    case list([Result<Token, any Error>])
    case first(index: Int, value: Token)

    /// The text in a trace: `1`, `[1 !boom]`, `(0 1)`.
    var description: String {
        switch self {
        case .word(let word): word
        case .list(let results): "[" + results.map(\.traced).joined(separator: " ") + "]"
        case .first(let index, let value): "(\(index) \(value))"
        }
    }
}

/// An error of a scenario, identified by its name.
struct ScenarioError: Error {
    let name: String
}

extension Result where Success == Token, Failure == any Error {
    /// The text in a trace, errors with a `!`; the names of errors are those of twisted_runner.py.
    var traced: String {
        switch self {
        case .success(let token): "\(token)"
        case .failure(let error as ScenarioError): "!\(error.name)"
        case .failure(is CancellationError): "!cancelled"
        case .failure(DeferredError.timedOut): "!timed-out"
        case .failure(DeferredError.cycle): "!cycle"
        case .failure(DeferredError.abandoned): "!abandoned"
        case .failure(DeferredError.empty): "!empty"
        case .failure(let error): "!\(error)"
        }
    }

    /// A value, or an error written with a `!`, as scenarios have it.
    init(written: String) {
        self =
            if written.hasPrefix("!") {
                .failure(ScenarioError(name: String(written.dropFirst())))
            } else {
                .success(.word(written))
            }
    }
}
