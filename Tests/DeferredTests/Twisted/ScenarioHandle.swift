import Deferred

/// A handle of the type of the scenario's Deferred: a list's own has another type than a chain's.
enum ScenarioHandle: Sendable {
    case token(Deferred<Token>)
    case results(Deferred<[Result<Token, any Error>]>)
    case values(Deferred<[Token]>)
    case first(Deferred<(index: Int, value: Token)>)

    /// The same as a chain of tokens; one link further down if that requires one.
    var deferred: Deferred<Token> {
        switch self {
        case .token(let deferred): deferred
        case .results(let results): results.map { Token(results: $0) }
        case .values(let values): values.map { Token(values: $0) }
        case .first(let first): first.map { Token(first: $0) }
        }
    }

    var outcome: Result<Token, any Error>? {
        switch self {
        case .token(let deferred): deferred.currentResult
        case .results(let results): results.currentResult?.map(Token.init(results:))
        case .values(let values): values.currentResult?.map(Token.init(values:))
        case .first(let first): first.currentResult?.map(Token.init(first:))
        }
    }

    func cancel() {
        switch self {
        case .token(let deferred): deferred.cancel()
        case .results(let results): results.cancel()
        case .values(let values): values.cancel()
        case .first(let first): first.cancel()
        }
    }

    func pause() {
        switch self {
        case .token(let deferred): deferred.pause()
        case .results(let results): results.pause()
        case .values(let values): values.pause()
        case .first(let first): first.pause()
        }
    }

    func unpause() {
        switch self {
        case .token(let deferred): deferred.unpause()
        case .results(let results): results.unpause()
        case .values(let values): values.unpause()
        case .first(let first): first.unpause()
        }
    }
}

extension Token {
    init(results: [Result<Token, any Error>]) { self = .list(results) }
    init(values: [Token]) { self = .list(values.map(Result.success)) }
    init(first: (index: Int, value: Token)) { self = .first(index: first.index, value: first.value) }
}
