import Deferred
import Testing

/// The result of a callback's block.
enum CallbackEnd {
    case outcome(Result<Token, any Error>)
    case deferred(Deferred<Token>)

    var outcome: Result<Token, any Error>? {
        if case .outcome(let outcome) = self { outcome } else { nil }
    }
}

extension Replayer {
    /// Runs a block with `input`; its last step determines the result, which without one is the input.
    func perform(_ steps: [ScenarioStep], _ input: Result<Token, any Error>) throws -> CallbackEnd {
        if isOver { throw CancellationError() }
        for step in steps {
            switch step.verb {
            case "return": return .outcome(.success(.word(step.words[0])))
            case "raise": return .outcome(.failure(ScenarioError(name: step.words[0])))
            case "defer": return .deferred(try newest(step.words[0]).chain())
            default: try run(step)
            }
        }
        return .outcome(input)
    }

    private func call(_ link: ScenarioLink, _ input: Result<Token, any Error>) throws -> CallbackEnd {
        trace.append("\(link.label) <- \(input.traced)")
        return try perform(link.steps, input)
    }

    func value(_ link: ScenarioLink, _ input: Result<Token, any Error>) throws -> Token {
        try #require(call(link, input).outcome, "a Deferred where a value was called for: \(link.label)")
            .get()
    }

    func deferred(_ link: ScenarioLink, _ input: Result<Token, any Error>) throws -> Deferred<Token> {
        switch try call(link, input) {
        case .outcome(let outcome): .resolved(try outcome.get())
        case .deferred(let deferred): deferred
        }
    }

    /// Attaches to the newest handle; the new handle replaces it once the call has returned.
    func attach(_ verb: String, to name: String, _ links: [ScenarioLink]) throws {
        try #require(links.count == (verb == "pair" ? 2 : 1), "wrong number of callbacks: \(verb) \(name)")
        let (first, last) = (links[0], links[links.count - 1])
        let handle = try newest(name)
        let attached =
            handle.attachPair?(
                { verb == "fail" ? .resolved($0) : try self.deferred(first, .success($0)) },
                { error in
                    if verb == "then" { throw error }
                    return try self.deferred(last, .failure(error))
                }) ?? attach(verb, first, last, to: handle.chain())
        setNewest(name, ScenarioHandle(attached))
    }

    /// Attaches to a chain, with the form that a user would write.
    private func attach(
        _ verb: String, _ first: ScenarioLink, _ last: ScenarioLink, to handle: Deferred<Token>
    ) -> Deferred<Token> {
        switch (verb, first.defers || last.defers) {
        case ("then", false): handle.map { try self.value(first, .success($0)) }
        case ("then", true): handle.then { try self.deferred(first, .success($0)) }
        case ("fail", false): handle.recover { try self.value(first, .failure($0)) }
        case ("fail", true): handle.orElse { try self.deferred(first, .failure($0)) }
        case ("both", false): handle.mapResult { try self.value(first, $0) }
        case ("both", true): handle.thenResult { try self.deferred(first, $0) }
        case (_, false):
            handle.map {
                try self.value(first, .success($0))
            } recover: {
                try self.value(last, .failure($0))
            }
        case (_, true):
            handle.then {
                try self.deferred(first, .success($0))
            } orElse: {
                try self.deferred(last, .failure($0))
            }
        }
    }

    func maybe(_ name: String, _ steps: [ScenarioStep]) throws {
        let link = ScenarioLink(label: name, steps: steps)
        let nothing = Result<Token, any Error>.success(.word("none"))
        let made: Deferred<Token> =
            if link.defers {
                Deferred(following: { () throws -> Deferred<Token> in
                    guard case .deferred(let deferred) = try self.perform(steps, nothing) else {
                        throw CancellationError()
                    }
                    return deferred
                })
            } else {
                Deferred(catching: { try #require(self.perform(steps, nothing).outcome).get() })
            }
        setNewest(name, ScenarioHandle(made))
    }

    func chain(_ name: String, to other: String) throws {
        let handle = try newest(name).chain()
        switch try #require(producers[other], "can't be fired: \(other)") {
        case .deferred(let deferred): deferred.follow(handle)
        case .resolver(let resolver): resolver.follow(handle)
        }
    }
}
