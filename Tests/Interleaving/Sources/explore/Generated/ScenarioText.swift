/// A generated program as the text of a scenario, to be pasted into `Scenarios`. Every Deferred is in a `Box`, since a
/// callback may name one that is made later.
struct ScenarioText: CustomStringConvertible {
    let program: ThreadedProgram
    let permitted: [String]

    var description: String {
        let ids = program.setup.compactMap(\.madePlain)
        let threads = program.threads.map { "{ \($0.map(\.swift).joined(separator: "; ")) }" }
        let states = ids.map { "show(d\($0).value?.currentResult)" }.joined(separator: ", ")
        return """
            scenario("generated-\(program.size)") {
                let box = WorkBox(), delays = Delays(), log = Log()
                let \(ids.map { "d\($0) = Box<D>(nil)" }.joined(separator: ", "))
                \(program.setup.map(\.swift).joined(separator: "\n    "))
                return Program(\((threads.count == 1 ? threads + ["{}"] : threads).joined(separator: ", "))) {
                    let seen = [\(states)].joined(separator: " ")
                    hold(box, log)
                    return expect(\(permitted).contains(seen), seen + " " + log.text)
                }
            }
            """
    }
}

extension ModelAction {
    /// The number of the `Deferred<Int>` that it makes.
    fileprivate var madePlain: Int? {
        switch self {
        case .source(let id, _, _), .attach(let id, _, _, _), .shielded(let id, _), .timeout(let id, _): id
        default: nil
        }
    }

    fileprivate var swift: String {
        switch self {
        case .source(let id, _, nil): "d\(id).value = D()"
        case .source(let id, _, let canceller?):
            "d\(id).value = D(canceller: { r in log.add(\"x\(id)\")\(canceller.fires.map { "; r.\($0.swift)" } ?? "") })"
        case .fire(_, let id, _, let outcome): "d\(id).value?.\(outcome.swift)"
        case .attach(let id, let target, let callback, _):
            "d\(id).value = d\(target).value?.\(callback.swift(id))"
        case .shielded(let id, let target): "d\(id).value = d\(target).value?.shielded()"
        case .timeout(let id, let target):
            "d\(id).value = d\(target).value?.timeout(.seconds(1), on: delays)"
        case .expire: "delays.expire()"
        case .finally(let id, let target, _): "d\(target).value?.finally { _ in log.add(\"f\(id)\") }"
        case .follow(_, let target, _, let other): "d\(target).value?.follow(d\(other).value!)"
        case .list(let id, let inputs, let rule, let options, _):
            """
            let d\(id) = Box(DeferredList([\(inputs.map { "d\($0).value!" }.joined(separator: ", "))], \
            consumeErrors: \(options.consumeErrors), cancelsRemaining: \(options.cancelsRemaining)).\(rule)())
            """
        case .limitedList(let id, let inputs, let limit, let rule):
            """
            let d\(id) = Box(DeferredList([\(inputs.map { "d\($0)" }.joined(separator: ", "))], limit: \(limit)) \
            { $0.value! }.\(rule)())
            """
        case .cancel(let id): "d\(id).value?.cancel()"
        case .pause(let id): "d\(id).value?.pause()"
        case .unpause(_, let id): "d\(id).value?.unpause()"
        case .drop(let id): "_ = d\(id).take()"
        case .runWork: "box.take()?()"
        case .dropWork: "_ = box.take()"
        default: "/* \(self) */"
        }
    }
}

extension ModelOutcome {
    fileprivate var swift: String {
        if case .value(let value) = self { "resolve(\(value))" } else { "reject(E1())" }
    }

    /// As `show` has it.
    var shown: String {
        switch self {
        case .value(let value): "\(value)"
        case .failure(.test): "E1"
        case .failure(let fault): "\(fault)"
        }
    }
}

extension Callback {
    fileprivate func swift(_ id: Int) -> String {
        let isErrback = form == .fail
        let name = isErrback ? (isNested ? "orElse" : "recover") : (isNested ? "then" : "map")
        let place = dispatcher.map { $0 == .manual ? "(on: Stored(box: box))" : "(on: \($0))" } ?? ""
        let body = isErrback ? onFailure : onValue
        let answer =
            switch body.answer {
            case .handle(let handle): "d\(handle).value!"
            case .value(let value): isNested ? "D.resolved(\(value))" : "\(value)"
            case .echo, .error: isErrback ? "throw v" : "v"
            }
        let actions = (["log.add(\"\(id)\")"] + body.actions.map(\.swift)).joined(separator: "; ")
        return "\(name)\(place) { v -> \(isNested ? "D" : "Int") in \(actions); return \(answer) }"
    }
}
