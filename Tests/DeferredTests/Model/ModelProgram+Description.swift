/// Prints a program as Swift code: `d7` is the Deferred that step 7 created, `r7` its resolver.
extension ModelProgram: CustomStringConvertible {
    var description: String {
        let steps = steps.enumerated().map { "\($0.offset): \($0.element)" }
        let threads = threads.enumerated().map { thread in
            "thread \(thread.offset): \(thread.element.map(\.description).joined(separator: "; "))"
        }
        return (steps + threads).joined(separator: "\n")
    }
}

extension ModelAction: CustomStringConvertible {
    var description: String {
        switch self {
        case .source(let id, let kind, let canceller):
            "d\(id) = \(kind == .plain ? "Deferred" : "withResolver")(\(canceller.map { "canceller: \($0)" } ?? ""))"
        case .settled(let id, let outcome): "d\(id) = settled(\(outcome))"
        case .fire(let id, let target, let completer, let outcome):
            "\(name(target, completer)).complete(\(outcome))  // \(id)"
        case .attach(let id, let target, let callback, let keep):
            "\(keep ? "d\(id)" : "_") = d\(target).\(callback)  // \(id)"
        case .shielded(let id, let target): "d\(id) = d\(target).shielded()"
        case .timeout(let id, let target): "d\(id) = d\(target).timeout()"
        case .finally(let id, let target, let actions):
            "d\(target).finally { \((["\(id)"] + actions.map(\.description)).joined(separator: "; ")) }"
        case .follow(let id, let target, let completer, let other):
            "\(name(target, completer)).follow(d\(other))  // \(id)"
        case .list(let id, let inputs, let rule, let options, let keep):
            "\(keep ? "d\(id)" : "_") = \(names(inputs)).\(rule)(\(options))"
        case .limitedList(let id, let inputs, let limit, let rule):
            "d\(id) = list of \(names(inputs)), limit \(limit), .\(rule)"
        case .cancelList(let inputs): "\(names(inputs)).cancel()"
        case .cancel(let target): "d\(target).cancel()"
        case .pause(let target): "d\(target).pause()"
        case .unpause(let id, let target): "d\(target).unpause()  // \(id)"
        case .look(let target): "d\(target).currentResult"
        case .wait(let id, let target): "d\(target).wait()  // \(id)"
        case .copyResolver(let id, let target): "r\(id) = r\(target)"
        case .tower(let id, let depth, let actions):
            "abandon \(depth) deep { \(actions.map(\.description).joined(separator: "; ")) }  // \(id)"
        case .copy(let id, let target): "d\(id) = d\(target)"
        case .drop(let target): "d\(target) = nil"
        case .dropResolver(let target): "r\(target) = nil"
        case .runWork: "runWork"
        case .dropWork: "dropWork"
        case .dropDispatcher: "dropDispatcher"
        case .expire: "expire"
        case .task(let id, let target): "t\(id) = Task for d\(target)"
        case .await(let id): "t\(id).await"
        case .cancelTask(let id): "t\(id).cancel()"
        }
    }

    private func name(_ target: Int, _ completer: Completer) -> String {
        completer == .handle ? "d\(target)" : "r\(target)"
    }
    private func names(_ inputs: [Int]) -> String {
        "[\(inputs.map { "d\($0)" }.joined(separator: ", "))]"
    }
}

extension Canceller: CustomStringConvertible {
    var description: String {
        let ends = [fires.map { "complete(\($0))" }, keeps.map { "r\($0) = it" }].compactMap { $0 }
        return "{ \((actions.map(\.description) + ends).joined(separator: "; ")) }"
    }
}

extension Callback: CustomStringConvertible {
    var description: String {
        let place = dispatcher.map { "on: \($0)" } ?? ""
        let nested = isNested ? "nested" : ""
        let bodies =
            switch form {
            case .then: "\(onValue)"
            case .fail, .trap: "\(onFailure)"
            case .both, .pair: "value \(onValue) failure \(onFailure)"
            }
        let end = atEnd.isEmpty ? "" : " deinit { \(atEnd.map(\.description).joined(separator: "; ")) }"
        return
            "\(form)(\([place, nested].filter { !$0.isEmpty }.joined(separator: ", "))) \(bodies)\(end)"
    }
}

extension ScriptedBody: CustomStringConvertible {
    var description: String {
        "{ \((actions.map(\.description) + ["\(answer)"]).joined(separator: "; ")) }"
    }
}

extension ModelOutcome: CustomStringConvertible {
    var description: String {
        switch self {
        case .value(let datum): "\(datum)"
        case .failure(let fault): "!\(fault)"
        }
    }
}

extension Datum: CustomStringConvertible {
    var description: String {
        switch self {
        case .number(let number): "\(number)"
        case .outcomes(let outcomes): "\(outcomes)"
        case .values(let values): "\(values)"
        case .place(let index, let value): "\(value) at \(index)"
        }
    }
}

extension ModelProgram {
    /// This program as an expression of Swift.
    var code: String { Self.code(self) }

    private static func code(_ value: Any) -> String {
        let mirror = Mirror(reflecting: value)
        func list(_ open: String, _ close: String) -> String {
            let items = mirror.children.map { child in
                let label = child.label.map { $0.hasPrefix(".") ? "" : "\($0): " } ?? ""
                return label + code(child.value)
            }
            return open + items.joined(separator: ", ") + close
        }
        switch mirror.displayStyle {
        case .optional: return mirror.children.first.map { code($0.value) } ?? "nil"
        case .collection: return list("[", "]")
        case .tuple: return list("(", ")")
        case .struct: return list("\(type(of: value))(", ")")
        case .enum:
            guard let child = mirror.children.first, let name = child.label else { return ".\(value)" }
            let payload = code(child.value)
            return ".\(name)" + (payload.hasPrefix("(") ? payload : "(\(payload))")
        default: return "\(value)"
        }
    }
}
