import Deferred

extension Replayer {
    /// `words`: the names of the inputs, and `+consume`.
    func makeList(_ verb: String, _ name: String, _ words: [String]) throws {
        let inputs = try words.filter { !$0.hasPrefix("+") }.map { try newest($0).chain() }
        // Twisted's race owns its inputs: it consumes their errors, and cancels the losers.
        let isRace = verb == "race"
        let list = DeferredList(
            inputs, consumeErrors: isRace || words.contains("+consume"), cancelsRemaining: isRace)
        switch verb {
        case "list": setNewest(name, ScenarioHandle(list.results(), Token.list))
        case "gather": setNewest(name, ScenarioHandle(list.values()) { .list($0.map(Result.success)) })
        default: setNewest(name, ScenarioHandle(list.first()) { .first(index: $0.index, value: $0.value) })
        }
    }
}
