import Testing

/// One step of a scenario: words and blocks, as Tests/Conformance/README.md describes them.
struct ScenarioStep: Sendable {
    enum Item: Sendable {
        case word(String)
        case block([ScenarioStep])
    }

    /// The operation.
    let verb: String
    /// Its operands.
    let items: [Item]

    var words: [String] {
        items.compactMap { if case .word(let word) = $0 { word } else { nil } }
    }

    /// The first block, or an empty one: a callback without one passes its input on.
    var block: [ScenarioStep] {
        for case .block(let steps) in items { return steps }
        return []
    }

    /// Each word with the block that stands after it: `c1 { … } f1` of a pair.
    var links: [ScenarioLink] {
        items.indices.compactMap { index in
            guard case .word(let label) = items[index] else { return nil }
            guard index + 1 < items.count, case .block(let steps) = items[index + 1] else {
                return ScenarioLink(label: label, steps: [])
            }
            return ScenarioLink(label: label, steps: steps)
        }
    }
}

/// A callback of a scenario.
struct ScenarioLink: Sendable {
    let label: String
    let steps: [ScenarioStep]

    /// Whether its last step returns a Deferred.
    var defers: Bool { steps.last?.verb == "defer" }
}

extension ScenarioStep {
    /// Reads one line of a scenario.
    init(line: String) throws {
        var tokens = line.split(separator: " ").map(String.init)[...]
        let steps = Self.readSteps(&tokens)
        try #require(tokens.isEmpty && steps.count == 1, "not one step with its blocks closed: \(line)")
        self = steps[0]
    }

    /// Reads steps as far as the end or a brace that closes a block, which stays.
    private static func readSteps(_ tokens: inout ArraySlice<String>) -> [ScenarioStep] {
        var steps: [ScenarioStep] = []
        var items: [Item] = []
        func finish() {
            if case .word(let verb)? = items.first {
                steps.append(ScenarioStep(verb: verb, items: Array(items.dropFirst())))
            }
            items = []
        }
        while let token = tokens.first, token != "}" {
            tokens.removeFirst()
            switch token {
            case "{":
                items.append(.block(readSteps(&tokens)))
                _ = tokens.popFirst()
            case ";":
                finish()
            default:
                items.append(.word(token))
            }
        }
        finish()
        return steps
    }
}
