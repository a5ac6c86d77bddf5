/// A delegate's answer in ``MulticastDelegate/reduce(over:_:fileID:line:)``.
public enum MulticastStep<Result> {
    /// The result so far; the next delegate is asked.
    case next(Result)
    /// The final result; no other delegate is asked.
    case stop(Result)
}

extension MulticastStep: Sendable where Result: Sendable {}

extension MulticastStep {
    /// The result so far, or the final one.
    var result: Result {
        switch self {
        case .next(let result), .stop(let result): result
        }
    }

    /// Whether no other delegate is asked.
    var isLast: Bool { if case .stop = self { true } else { false } }
}
