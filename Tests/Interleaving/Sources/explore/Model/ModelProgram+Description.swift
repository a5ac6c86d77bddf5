/// Prints a program as an expression of Swift, which can be run again.
extension ModelProgram: CustomStringConvertible {
    var description: String {
        func lines(_ items: [some Any], _ indent: String) -> String {
            "[\n" + items.map { "\(indent)    \(code($0)),\n" }.joined() + "\(indent)]"
        }
        return "ModelProgram(\n    steps: \(lines(steps, "    ")),\n    threads: \(lines(threads, "    ")))"
    }
}

/// Returns an expression of Swift, without arguments that are the default: `nil`, `false`, an empty array or body.
private func code(_ value: Any) -> String {
    let mirror = Mirror(reflecting: value)
    func list(_ open: String, _ close: String, isDefault: (String) -> Bool = { _ in false }) -> String {
        let items = mirror.children.compactMap { child -> String? in
            let code = code(child.value)
            let label = child.label.map { $0.hasPrefix(".") ? "" : "\($0): " } ?? ""
            return isDefault(code) ? nil : label + code
        }
        return open + items.joined(separator: ", ") + close
    }
    switch mirror.displayStyle {
    case .optional: return mirror.children.first.map { code($0.value) } ?? "nil"
    case .collection: return list("[", "]")
    case .tuple: return list("(", ")")
    case .struct:
        return list("\(type(of: value))(", ")") {
            ["nil", "false", "[]", ".echo", "ScriptedBody()"].contains($0)
        }
    case .enum:
        guard let child = mirror.children.first, let name = child.label else { return ".\(value)" }
        let payload = code(child.value)
        return ".\(name)" + (payload.hasPrefix("(") ? payload : "(\(payload))")
    default: return "\(value)"
    }
}

// MARK: What is seen

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
        case .settled(let index, let outcome): "\(outcome) at \(index)"
        }
    }
}
