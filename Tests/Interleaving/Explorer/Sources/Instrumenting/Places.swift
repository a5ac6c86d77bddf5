/// Where a pattern was found in a function: its tokens, and those that each `_` of it stands for.
struct Match {
    let range: Range<Int>
    let captures: [Int]
    /// The first token that is more than punctuation.
    let anchor: Int
}

extension Tokens {
    /// The places in a range where the tokens are those of a pattern, in which `_` is any one name.
    func matches(of pattern: Tokens, in range: Range<Int>) -> [Match] {
        let wanted = pattern.all.map(\.text)
        guard !wanted.isEmpty, range.count >= wanted.count else { return [] }
        let start = wanted.firstIndex {
            $0 == "!" || $0 == "." || $0.first!.isLetter || $0.first!.isNumber || "_$\"`".contains($0.first!)
        }
        return (range.lowerBound...(range.upperBound - wanted.count)).compactMap { first in
            var captures: [Int] = []
            for (offset, text) in wanted.enumerated() {
                if text == "_", isIdentifier(first + offset) {
                    captures.append(first + offset)
                } else if self[first + offset] != text {
                    return nil
                }
            }
            return Match(
                range: first..<first + wanted.count, captures: captures, anchor: first + (start ?? 0))
        }
    }

    /// The innermost statement that contains a token, without a `case` before it.
    func statement(of index: Int) -> Range<Int> {
        var place = index
        while enclosing[place] >= 0, self[enclosing[place]] != "{" { place = enclosing[place] }
        var start = place
        while !beginsStatement(start) {
            start -= 1
            if let open = partners[start], open < start { start = open }
        }
        var end = place + 1
        if let close = partners[place], close > place { end = close + 1 }
        while end < count, !beginsStatement(end), self[end] != "}", self[end] != ";" {
            end = (partners[end].map { max($0, end) } ?? end) + 1
        }
        if let body = afterHeader(start, upTo: place) { start = body }
        return start..<end
    }

    /// Where a statement begins after the label of a `case`, or the parameters of a closure.
    private func afterHeader(_ start: Int, upTo place: Int) -> Int? {
        let first = self[start] == "@unknown" ? start + 1 : start
        let ends: Substring
        switch self[first] {
        case "case", "default": ends = ":"
        case "for": return nil
        default:
            guard start - 1 == enclosing[start] else { return nil }
            ends = "in"
        }
        var index = first
        while index < place {
            if self[index] == ends { return index + 1 }
            index = (partners[index].map { max($0, index) } ?? index) + 1
        }
        return nil
    }

    // MARK: Conditions

    private static let beforeOperand: Set<Substring> = [
        "&&", "||", ",", "=", ":", "return", "if", "guard", "while", "else", "in", "where", ";", "throw",
        "try", "await",
    ]

    /// The operand of `&&`, `||`, a list of conditions, an assignment or a `return` that a token is part of.
    func operand(of index: Int) -> Range<Int> {
        var start = index
        while start > 0, !beginsStatement(start), start - 1 != enclosing[index],
            !Self.beforeOperand.contains(self[start - 1]), !isTernary(start - 1)
        {
            start -= 1
            if let open = partners[start], open < start { start = open }
        }
        var end = index
        repeat {
            end = (partners[end].map { max($0, end) } ?? end) + 1
        } while end < count && !endsOperand(end, of: index)
        return start..<end
    }

    private func endsOperand(_ end: Int, of index: Int) -> Bool {
        switch self[end] {
        case "&&", "||", ",", ":", "else", ";", ")", "]", "}", "in": true
        case "?": isTernary(end)
        case "{": opensBlock(end)
        default: beginsStatement(end)
        }
    }

    /// Whether a brace opens the body of an `if`, a `guard`, or a loop, rather than a closure.
    func opensBlock(_ brace: Int) -> Bool {
        var index = brace - 1
        while index >= 0, index > enclosing[brace] {
            if ["if", "while", "switch", "for", "else", "do", "repeat", "catch"].contains(self[index]) {
                return true
            }
            if beginsStatement(index) { return self[index] == "guard" }
            index = (partners[index].map { min($0, index) } ?? index)
            if beginsStatement(index) {
                return ["if", "while", "switch", "for", "else", "do"].contains(self[index])
            }
            index -= 1
        }
        return false
    }

    /// Whether an operand is what a `let`, or a `case`, of a condition is bound to.
    func isBinding(_ operand: Range<Int>) -> Bool {
        if ["let", "var", "case"].contains(self[operand.lowerBound]) { return true }
        guard self[operand.lowerBound - 1] == "=" else { return false }
        var index = operand.lowerBound - 2
        while index > enclosing[operand.lowerBound], !beginsStatement(index) {
            if ["let", "var", "case"].contains(self[index]) {
                return [",", "if", "guard", "while"].contains(self[index - 1])
            }
            index = (partners[index].map { min($0, index) } ?? index) - 1
        }
        return false
    }

    // MARK: Calls

    /// A call of a function, or the use of a property.
    struct Call {
        /// With what it is called on.
        let range: Range<Int>
        /// What it is called on, without the dot.
        let receiver: Range<Int>
        /// Without labels, trailing closures last.
        let arguments: [Range<Int>]
    }

    /// The call that a pattern names: by the last name in front of its first bracket.
    func call(_ match: Match) -> Call? {
        var callee = match.anchor
        if self[callee] == "!" || self[callee] == "." { callee += 1 }
        while true {
            let dot = self[callee + 1] == "?" || self[callee + 1] == "!" ? callee + 2 : callee + 1
            guard self[dot] == ".", dot + 1 < match.range.upperBound else { break }
            callee = dot + 1
        }
        var arguments: [Range<Int>] = []
        var end = callee + 1
        if self[end] == "(", let close = partners[end] {
            if end + 1 < close {
                arguments = split(end + 1..<close).map {
                    isIdentifier($0.lowerBound) && self[$0.lowerBound + 1] == ":" ? $0.dropFirst(2) : $0
                }
            }
            end = close + 1
        }
        if self[end] == "{", !opensBlock(end), let close = partners[end] {
            arguments.append(end..<close + 1)
            end = close + 1
        }
        guard end > callee + 1 else { return nil }
        var start = callee
        while self[start - 1] == ".", let primary = primary(before: start - 1) { start = primary }
        return Call(range: start..<end, receiver: start..<max(start, callee - 1), arguments: arguments)
    }

    /// Where the last part of a chain of members begins that ends before a dot.
    private func primary(before dot: Int) -> Int? {
        var index = dot - 1
        while self[index] == "?" || self[index] == "!", !all[index].followsSpace { index -= 1 }
        while let open = partners[index], open < index, !beginsStatement(open),
            !all[open].followsSpace || self[open] == "{"
        {
            index = open - 1
        }
        if isIdentifier(index), !["return", "in", "try", "await"].contains(self[index]) { return index }
        return partners[index].map { min($0, index) }.flatMap { $0 < index ? $0 : nil }
    }
}
