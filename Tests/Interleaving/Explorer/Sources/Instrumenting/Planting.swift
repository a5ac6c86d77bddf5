/// Plants faults in the files of a module.
struct Planting {
    /// A change of the text of a file.
    private struct Edit {
        let fault: Int
        /// The bytes that it encloses, which may contain those of other edits.
        let range: Range<Int>
        let write: (_ inner: String) -> String
    }

    private let files: [Tokens]
    private let texts: [String]
    private let functions: [(file: Int, function: Function)]
    private var edits: [[Edit]]
    private var problems: [String] = []

    init(_ texts: [String]) {
        self.texts = texts
        files = texts.map { Tokens($0) }
        functions = files.enumerated().flatMap { index, tokens in tokens.functions().map { (index, $0) } }
        edits = texts.map { _ in [] }
    }

    /// Returns the files with the faults, and which of them have some.
    static func plant(_ faults: [PlantedFault], in texts: [String]) throws -> [(
        text: String, hasFaults: Bool
    )] {
        var planting = Planting(texts)
        for fault in faults { for change in fault.changes { planting.add(change, of: fault) } }
        let written = planting.texts.indices.map { file in
            (planting.written(file), planting.edits[file].contains { $0.fault > 0 })
        }
        if !planting.problems.isEmpty { throw PlantingFailure(planting.problems.joined(separator: "\n")) }
        return written
    }

    // MARK: Places

    private mutating func add(_ change: PlantedFault.Change, of fault: PlantedFault) {
        let named = functions.filter { $0.function.isNamed(change.symbol) }
        func report(_ text: String) -> String { "planted fault \(fault.number), \(fault.title): \(text)" }
        if named.isEmpty {
            problems.append(report("there is no function \(change.symbol)" + similar(to: change.symbol)))
            return
        }
        if case .answers(let value) = change.operation {
            if named.count == 1 { return answer(value, named[0].file, named[0].function, fault.number) }
            let names = named.map { $0.function.name }.joined(separator: ", ")
            return problems.append(report("\(change.symbol) is the name of several functions: \(names)"))
        }
        let patterns = change.operation.patterns
        let found = named.flatMap { file, function in
            files[file].matches(of: Tokens(patterns[0]), in: function.body).map { (file, function, $0) }
        }
        guard found.count == 1 else {
            let places = found.map { "\n    \(line($0.2.range.lowerBound, of: $0.0))" }.joined()
            let also =
                found.isEmpty ? mentions(like: patterns[0], in: named.map { ($0.file, $0.function) }) : places
            return problems.append(
                report("\(change.symbol) has \(found.count) places with `\(patterns[0])`\(also)"))
        }
        do throws(PlantingFailure) {
            try edit(change.operation, found[0].0, found[0].1, found[0].2, fault.number)
        } catch {
            problems.append(report("\(change.symbol), `\(patterns[0])`: \(error)"))
        }
    }

    /// The functions whose names have most in common with a symbol's.
    private func similar(to symbol: String) -> String {
        let base = symbol.prefix { $0 != "(" }.split(separator: ".").last.map(String.init) ?? symbol
        let type = symbol.split(separator: ".").first.map(String.init)
        let rated = Dictionary(grouping: functions, by: { $0.function.name }).values.compactMap(\.first).map {
            $0.function
        }
        .map { function in
            (
                function.name,
                distance(base, function.path.last ?? "") + (function.path.dropLast().last == type ? 0 : 3)
            )
        }
        let best = rated.sorted { ($0.1, $0.0) < ($1.1, $1.0) }.prefix(4).map { $0.0 }
        return best.isEmpty ? "" : "; there are \(best.joined(separator: ", "))"
    }

    /// What functions mention that resembles the longest name of a pattern.
    private func mentions(like pattern: String, in functions: [(Int, Function)]) -> String {
        let names = Tokens(pattern).all.map { String($0.text) }.filter { $0.first?.isLetter ?? false }
        guard let longest = names.max(by: { $0.count < $1.count }) else { return "" }
        var known = Set<String>()
        for (file, function) in functions {
            for index in function.body where files[file].isIdentifier(index) {
                known.insert(String(files[file][index]))
            }
        }
        let best = known.sorted { (distance(longest, $0), $0) < (distance(longest, $1), $1) }.prefix(4)
        return "; it mentions \(best.joined(separator: ", "))"
    }

    private func line(_ token: Int, of file: Int) -> String {
        let tokens = files[file]
        let statement = tokens.statement(of: token)
        return String(tokens.flat(statement).prefix(100))
    }

    // MARK: Operations

    private mutating func edit(
        _ operation: PlantedFault.Operation, _ file: Int, _ function: Function, _ match: Match, _ fault: Int
    ) throws(PlantingFailure) {
        let tokens = files[file]
        let isOn = "isPlanted(\(fault))"
        var call: Tokens.Call?
        func fill(_ template: String) -> String { filled(template, tokens, function, match, call) }
        func edit(_ range: Range<Int>, _ write: @escaping (String) -> String) {
            edits[file].append(Edit(fault: fault, range: range, write: write))
        }
        /// Puts one expression in the place of another; or one statement, if it may be one.
        func replace(_ range: Range<Int>, _ new: String, orStatement: Bool = false) {
            if fault == 0 { return edit(tokens.bytes(range)) { _ in new } }
            let isStatement = orStatement && tokens.statement(of: range.lowerBound) == range
            edit(tokens.bytes(range)) { old in
                isStatement ? "if \(isOn) { \(new) } else { \(old) }" : "(\(isOn) ? (\(new)) : \(old))"
            }
        }
        func suppose(_ operand: Range<Int>, _ isTrue: Bool) throws(PlantingFailure) {
            let bytes = tokens.bytes(operand)
            if !tokens.isBinding(operand) {
                return edit(bytes) { isTrue ? "((\($0)) || \(isOn))" : "((\($0)) && !\(isOn))" }
            }
            if isTrue { throw PlantingFailure("what is bound cannot be left out") }
            edit(bytes.upperBound..<bytes.upperBound) { _ in ", !\(isOn)" }
        }

        switch operation {
        case .answers: break
        case .skips:
            edit(tokens.bytes(tokens.statement(of: match.anchor))) { "if !\(isOn) { \($0) }" }
        case .holds: try suppose(tokens.operand(of: match.anchor), true)
        case .fails: try suppose(tokens.operand(of: match.anchor), false)
        case .drops:
            let statement = tokens.statement(of: match.anchor)
            guard tokens[statement.lowerBound] == "guard", let end = elseOfGuard(statement, tokens) else {
                throw PlantingFailure("this is no guard")
            }
            for clause in tokens.split(statement.lowerBound + 1..<end) { try suppose(clause, true) }
        case .guarding(_, let value):
            let statement = tokens.statement(of: match.anchor)
            guard tokens[statement.lowerBound] == "guard", let end = elseOfGuard(statement, tokens),
                let close = tokens.partners[end + 1],
                let keyword = (end..<close).last(where: {
                    tokens[$0] == "return" && tokens.enclosing[$0] == end + 1
                })
            else { throw PlantingFailure("this is no guard that returns") }
            replace(keyword + 1..<close, fill(value))
        case .call(_, let new):
            call = tokens.call(match)
            guard let call else { throw PlantingFailure("this is no call") }
            replace(call.range, fill(new), orStatement: true)
        case .text(_, let new): replace(match.range, fill(new))
        case .before(_, let new), .after(_, let new):
            call = tokens.call(match)
            let bytes = tokens.bytes(tokens.statement(of: match.anchor))
            let text = fill(new)
            if case .before = operation {
                edit(bytes.lowerBound..<bytes.lowerBound) { _ in "if \(isOn) { \(text) }; " }
            } else {
                edit(bytes.upperBound..<bytes.upperBound) { _ in "; if \(isOn) { \(text) }" }
            }
        case .swaps(_, let second):
            let first = tokens.statement(of: match.anchor)
            let others = tokens.matches(of: Tokens(second), in: function.body)
            let next = others.map { tokens.statement(of: $0.anchor) }.first {
                $0.lowerBound == first.upperBound
            }
            guard let next else { throw PlantingFailure("`\(second)` does not follow") }
            let swapped = tokens.flat(next) + "; " + tokens.flat(first)
            edit(tokens.bytes(first.lowerBound..<next.upperBound)) {
                "if \(isOn) { \(swapped) } else { \($0) }"
            }
        }
    }

    private func elseOfGuard(_ statement: Range<Int>, _ tokens: Tokens) -> Int? {
        statement.last {
            tokens[$0] == "else" && tokens.enclosing[$0] == tokens.enclosing[statement.lowerBound]
        }
    }

    private mutating func answer(_ value: String, _ file: Int, _ function: Function, _ fault: Int) {
        let tokens = files[file]
        let content = function.body.dropFirst().dropLast()
        let value = filled(
            value, tokens, function, Match(range: content, captures: [], anchor: content.lowerBound), nil)
        let keywords: Set<Substring> = [
            "return", "if", "guard", "switch", "let", "var", "for", "while", "do", "defer", "repeat",
        ]
        let isExpression =
            !content.isEmpty && !keywords.contains(tokens[content.lowerBound])
            && tokens.statement(of: content.lowerBound) == content
        if isExpression, !value.isEmpty {
            edits[file].append(
                Edit(fault: fault, range: tokens.bytes(content)) {
                    "return isPlanted(\(fault)) ? (\(value)) : (\($0))"
                })
        } else {
            let start = tokens.bytes(content.isEmpty ? function.body : content).lowerBound
            edits[file].append(
                Edit(fault: fault, range: start..<start) { _ in "if isPlanted(\(fault)) { return \(value) }; "
                })
        }
    }

    /// Fills a template in: `%1` … are the arguments of the call, `%0` is what it is called on, `%_` the call, or what
    /// matched; `%a` … are what each `_` stands for; `%p1` … are the function's parameters.
    private func filled(
        _ template: String, _ tokens: Tokens, _ function: Function, _ match: Match, _ call: Tokens.Call?
    ) -> String {
        var text = template
        func fill(_ name: String, _ range: Range<Int>) {
            let value = tokens.flat(range)
            text = text.replacing(
                "%" + name,
                with: range.count > 1 && tokens[range.lowerBound] != "&" && name != "0" ? "(\(value))" : value
            )
        }
        for (index, name) in function.parameters.enumerated() {
            text = text.replacing("%p\(index + 1)", with: name)
        }
        for (index, capture) in match.captures.enumerated() {
            fill(String(UnicodeScalar(UInt8(ascii: "a") + UInt8(index))), capture..<capture + 1)
        }
        if let call {
            if call.receiver.isEmpty { text = text.replacing("%0.", with: "") }
            fill("0", call.receiver)
            for (index, argument) in call.arguments.enumerated() { fill("\(index + 1)", argument) }
        }
        return text.replacing("%_", with: tokens.flat(call?.range ?? match.range))
    }

    // MARK: Writing

    private mutating func written(_ file: Int) -> String {
        let bytes = Array(texts[file].utf8)
        let sorted = edits[file].sorted {
            ($0.range.lowerBound, $0.range.isEmpty ? 0 : 1, -$0.range.upperBound)
                < ($1.range.lowerBound, $1.range.isEmpty ? 0 : 1, -$1.range.upperBound)
        }
        return write(0..<bytes.count, sorted[...], bytes)
    }

    private mutating func write(_ range: Range<Int>, _ edits: ArraySlice<Edit>, _ bytes: [UInt8]) -> String {
        func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        var rest = edits
        var place = range.lowerBound
        var result = ""
        while let edit = rest.popFirst() {
            let inner = rest.prefix { $0.range.lowerBound < edit.range.upperBound }
            for other in inner where other.range.upperBound > edit.range.upperBound {
                problems.append(
                    "planted faults \(edit.fault) and \(other.fault) overlap at “\(text(other.range))”")
            }
            rest = rest.dropFirst(inner.count)
            result += text(place..<edit.range.lowerBound) + edit.write(write(edit.range, inner, bytes))
            place = edit.range.upperBound
        }
        return result + text(place..<max(place, range.upperBound))
    }
}

extension PlantedFault.Operation {
    fileprivate var patterns: [String] {
        switch self {
        case .answers: []
        case .skips(let pattern), .holds(let pattern), .fails(let pattern), .drops(let pattern): [pattern]
        case .guarding(let pattern, _), .call(let pattern, _), .text(let pattern, _): [pattern]
        case .before(let pattern, _), .after(let pattern, _), .swaps(let pattern, _): [pattern]
        }
    }
}

/// How many letters have to be put in, left out or changed to turn one name into the other (Levenshtein).
private func distance(_ first: String, _ second: String) -> Int {
    let second = Array(second)
    var row = Array(0...second.count)
    for (index, letter) in first.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for place in second.indices {
            let changed = diagonal + (letter == second[place] ? 0 : 1)
            diagonal = row[place + 1]
            row[place + 1] = min(changed, row[place] + 1, diagonal + 1)
        }
    }
    return row[second.count]
}
