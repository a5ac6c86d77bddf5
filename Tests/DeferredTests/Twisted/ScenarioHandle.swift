import Deferred

/// A handle of a scenario's Deferred. What it does is known when it is made: a list's own Deferred has another type
/// of value than a chain's.
struct ScenarioHandle: Sendable {
    typealias Step<Input> = @Sendable (Input) throws -> Deferred<Token>
    typealias AttachPair = @Sendable (@escaping Step<Token>, @escaping Step<any Error>) -> Deferred<Token>

    /// The same as a chain of tokens; one link further down if that requires one.
    let chain: @Sendable () -> Deferred<Token>
    /// Attaches to a list's own Deferred, always a pair, so that the result is a chain of tokens; nil for a chain.
    let attachPair: AttachPair?
    let outcome: @Sendable () -> Result<Token, any Error>?
    let cancel, pause, unpause: @Sendable () -> Void

    init(_ chain: Deferred<Token>) {
        self.chain = { chain }
        attachPair = nil
        outcome = { chain.currentResult }
        (cancel, pause, unpause) = (chain.cancel, chain.pause, { chain.unpause() })
    }

    init<Value>(_ list: Deferred<Value>, _ token: @escaping @Sendable (Value) -> Token) {
        chain = { list.map(token) }
        attachPair = { callback, errback in list.then({ try callback(token($0)) }, orElse: errback) }
        outcome = { list.currentResult?.map(token) }
        (cancel, pause, unpause) = (list.cancel, list.pause, { list.unpause() })
    }
}
