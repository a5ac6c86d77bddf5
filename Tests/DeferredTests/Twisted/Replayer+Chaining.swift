import Deferred

/// What a callback's block comes to.
enum Ending {
    case outcome(Result<Token, any Error>)
    case deferred(Deferred<Token>)
}

extension Replayer {
    /// Runs a block that is given `input`; its last step says what comes of it, without one the input does.
    func perform(_ steps: [Step], _ input: Result<Token, any Error>) throws -> Ending {
        for step in steps {
            switch step.verb {
            case "return": return .outcome(.success(.word(step.words[0])))
            case "raise": return .outcome(.failure(ScenarioError(name: step.words[0])))
            case "defer": return .deferred(try newest(step.words[0]))
            default: try run(step)
            }
        }
        return .outcome(input)
    }

    private func call(_ link: Link, _ input: Result<Token, any Error>) throws -> Ending {
        trace.append("\(link.label) <- \(input.traced)")
        return try perform(link.steps, input)
    }

    func value(_ link: Link, _ input: Result<Token, any Error>) throws -> Token {
        guard case .outcome(let outcome) = try call(link, input) else {
            throw UnreadableStep(line: link.label, reason: "a Deferred where a value was called for")
        }
        return try outcome.get()
    }

    func deferred(_ link: Link, _ input: Result<Token, any Error>) throws -> Deferred<Token> {
        switch try call(link, input) {
        case .outcome(let outcome): .resolved(try outcome.get())
        case .deferred(let deferred): deferred
        }
    }

    /// Attaches to the newest handle; the new one takes its place once the call has returned.
    func attach(_ verb: String, to name: String, _ links: [Link]) throws {
        let handle = try newest(name)
        guard links.count == (verb == "pair" ? 2 : 1) else {
            throw UnreadableStep(line: "\(verb) \(name)", reason: "wrong number of callbacks")
        }
        let first = links[0]
        let last = links[links.count - 1]
        handles[name] =
            switch (verb, links.contains(where: \.defers)) {
            case ("then", false): handle.then { try self.value(first, .success($0)) }
            case ("then", true): handle.then { try self.deferred(first, .success($0)) }
            case ("fail", false): handle.fail { try self.value(first, .failure($0)) }
            case ("fail", true): handle.fail { try self.deferred(first, .failure($0)) }
            case ("both", false): handle.both { try self.value(first, $0) }
            case ("both", true): handle.both { try self.deferred(first, $0) }
            case (_, false):
                handle.then {
                    try self.value(first, .success($0))
                } fail: {
                    try self.value(last, .failure($0))
                }
            case (_, true):
                handle.then {
                    try self.deferred(first, .success($0))
                } fail: {
                    try self.deferred(last, .failure($0))
                }
            }
    }

    func maybe(_ name: String, _ steps: [Step]) throws {
        let link = Link(label: name, steps: steps)
        let nothing = Result<Token, any Error>.success(.word("none"))
        handles[name] =
            if link.defers {
                Deferred(catching: { () throws -> Deferred<Token> in
                    guard case .deferred(let deferred) = try self.perform(steps, nothing) else {
                        throw CancellationError()
                    }
                    return deferred
                })
            } else {
                Deferred(catching: { () throws -> Token in
                    guard case .outcome(let outcome) = try self.perform(steps, nothing) else {
                        throw CancellationError()
                    }
                    return try outcome.get()
                })
            }
    }

    func chain(_ name: String, to other: String) throws {
        let handle = try newest(name)
        switch producers[other] {
        case .deferred(let deferred): deferred.follow(handle)
        case .resolver(let resolver): handle.chain(to: resolver)
        case nil: throw UnreadableStep(line: other, reason: "can't be fired")
        }
    }
}
