/// What a delegate's turn in ``MulticastDelegate/reduce(over:_:fileID:line:)`` comes to.
public enum MulticastTurn<Result> {
    /// The result so far; the next delegate is asked.
    case next(Result)
    /// The result; nobody else is asked.
    case stop(Result)
}

extension MulticastTurn: Sendable where Result: Sendable {}
