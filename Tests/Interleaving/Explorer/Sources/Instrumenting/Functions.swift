/// A function, an initialiser, or a computed property, with its body.
struct Function {
    /// The types that it is in, and its base name.
    let path: [String]
    /// Its argument labels; nil for a property.
    let labels: [String]?
    /// The names of its parameters in its body.
    let parameters: [String]
    /// The tokens of its body, with the braces.
    let body: Range<Int>

    var name: String {
        path.joined(separator: ".") + (labels.map { "(" + $0.map { $0 + ":" }.joined() + ")" } ?? "")
    }

    /// Whether `symbol` names it: `Type.name`, or `Outer.Type.name(label:)`.
    func isNamed(_ symbol: String) -> Bool {
        let base = symbol.prefix { $0 != "(" }
        let names = base.split(separator: ".").map(String.init)
        guard path.count >= names.count, Array(path.suffix(names.count)) == names else { return false }
        if base.count == symbol.count { return true }
        return name.hasSuffix(String(symbol.suffix(symbol.count - base.count)))
    }
}

extension Tokens {
    private static let types: Set<Substring> = ["extension", "class", "struct", "enum", "actor", "protocol"]

    /// The functions of the source, wherever they are, but for those within others.
    func functions() -> [Function] {
        var found: [Function] = []
        /// The types that enclose the place, each with the index of its last brace.
        var types: [(path: [String], end: Int)] = []
        var index = 0
        while index < count {
            while let last = types.last, index > last.end { types.removeLast() }
            let path = types.last?.path ?? []
            if Self.types.contains(self[index]), isIdentifier(index + 1), let type = typeName(after: index) {
                types.append((path + type.names, partners[type.brace] ?? count))
                index = type.brace + 1
            } else if let function = function(at: index, in: path) {
                found.append(function)
                index = function.body.upperBound
            } else {
                index += 1
            }
        }
        return found
    }

    private func typeName(after keyword: Int) -> (names: [String], brace: Int)? {
        // Not `class func`.
        if ["func", "var", "let", "init", "subscript", "final"].contains(self[keyword + 1]) { return nil }
        var names = [String(self[keyword + 1])]
        var index = keyword + 2
        while self[index] == ".", isIdentifier(index + 1) {
            names.append(String(self[index + 1]))
            index += 2
        }
        return brace(from: index).map { (names, $0) }
    }

    /// The brace that opens a body, unless another declaration comes first.
    private func brace(from start: Int) -> Int? {
        let others: Set<Substring> = [
            "func", "var", "let", "init", "deinit", "case", "subscript", "}", "typealias", "=",
        ]
        var index = start
        while index < count, self[index] != "{" {
            if others.contains(self[index]), self[index - 1] != "." { return nil }
            index = self[index] == "(" || self[index] == "[" ? (partners[index] ?? index) + 1 : index + 1
        }
        return index < count ? index : nil
    }

    private func function(at index: Int, in path: [String]) -> Function? {
        if index > 0, self[index - 1] == "." { return nil }
        switch self[index] {
        case "func", "init", "subscript":
            let name = self[index] == "func" ? self[index + 1] : self[index]
            var start = self[index] == "func" ? index + 2 : index + 1
            while start < count, self[start] != "(" {
                if self[start] == "{" || self[start] == "}" { return nil }
                start += 1
            }
            guard let end = partners[start], let brace = brace(from: end + 1), let last = partners[brace]
            else { return nil }
            let (labels, parameters) = parameters(start + 1..<end)
            return Function(
                path: path + [String(name)], labels: labels, parameters: parameters, body: brace..<last + 1)
        case "deinit":
            guard let brace = brace(from: index + 1), let last = partners[brace] else { return nil }
            return Function(path: path + ["deinit"], labels: nil, parameters: [], body: brace..<last + 1)
        case "var":
            guard isIdentifier(index + 1), self[index + 2] == ":", let brace = brace(from: index + 3),
                let last = partners[brace]
            else { return nil }
            return Function(
                path: path + [String(self[index + 1])], labels: nil, parameters: [], body: brace..<last + 1)
        default:
            return nil
        }
    }

    private func parameters(_ range: Range<Int>) -> (labels: [String], names: [String]) {
        var labels: [String] = []
        var names: [String] = []
        for part in split(range) where !part.isEmpty {
            let words = part.prefix { self[$0] != ":" }.map { String(self[$0]) }
            labels.append(words.first ?? "_")
            names.append(words.last ?? "_")
        }
        return (labels, names)
    }

    /// The parts between commas that are in no other brackets.
    func split(_ range: Range<Int>) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        var start = range.lowerBound
        for index in range where self[index] == "," && enclosing[index] == enclosing[range.lowerBound] {
            parts.append(start..<index)
            start = index + 1
        }
        return parts + [start..<range.upperBound]
    }
}
