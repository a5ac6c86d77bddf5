import Deferred

extension Replayer {
    /// `words`: the names of the inputs, and `+consume`.
    func makeList(_ verb: String, _ name: String, _ words: [String]) throws {
        let inputs = try words.filter { !$0.hasPrefix("+") }.map(newest)
        // Twisted's race takes its inputs over: it consumes their errors, and cancels the losers.
        let isRace = verb == "race"
        let list = DeferredList(
            inputs, consumeErrors: isRace || words.contains("+consume"), cancelsRemaining: isRace)
        handles[name] =
            switch verb {
            case "list": list.results().then { Token.list($0) }
            case "gather": list.values().then { Token.list($0.map(Result.success)) }
            default: list.first().then { Token.first(index: $0.index, value: $0.value) }
            }
    }
}
