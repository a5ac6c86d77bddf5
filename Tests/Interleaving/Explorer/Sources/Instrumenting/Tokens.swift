/// Swift source as tokens: as much of the language as is needed to find functions, statements, conditions and calls.
struct Tokens {
    struct Token {
        let text: Substring
        /// The first byte, and the one after the last.
        let range: Range<Int>
        /// Whether white space, or a new line, precedes it.
        let followsSpace: Bool
        let followsNewline: Bool
    }

    private let source: String
    private(set) var all: [Token] = []
    /// The other bracket of a pair, by index.
    private(set) var partners: [Int: Int] = [:]
    /// The index of the bracket that each token is in; -1 for none.
    private(set) var enclosing: [Int] = []

    init(_ source: String) {
        self.source = source
        var reader = TokenReader(source)
        while let token = reader.next() { all.append(token) }
        var open: [Int] = []
        for (index, token) in all.enumerated() {
            if ")]}".contains(token.text), let start = open.popLast() {
                partners[start] = index
                partners[index] = start
            }
            enclosing.append(open.last ?? -1)
            if "([{".contains(token.text) { open.append(index) }
        }
    }

    subscript(index: Int) -> Substring { all.indices.contains(index) ? all[index].text : "" }
    var count: Int { all.count }

    /// The text of tokens, as it was written.
    func text(_ range: Range<Int>) -> String {
        if range.isEmpty { return "" }
        let bytes = source.utf8
        let start = bytes.index(bytes.startIndex, offsetBy: all[range.lowerBound].range.lowerBound)
        let end = bytes.index(bytes.startIndex, offsetBy: all[range.upperBound - 1].range.upperBound)
        return String(source[start..<end])
    }

    /// The text of tokens on one line.
    func flat(_ range: Range<Int>) -> String {
        range.reduce(into: "") { text, index in
            if index > range.lowerBound {
                text +=
                    beginsStatement(index) && self[index - 1] != "{" && self[index - 1] != ";"
                    ? "; " : all[index].followsSpace ? " " : ""
            }
            text += self[index]
        }
    }

    /// The bytes of tokens.
    func bytes(_ range: Range<Int>) -> Range<Int> {
        all[range.lowerBound].range.lowerBound..<all[range.upperBound - 1].range.upperBound
    }

    // MARK: Kinds

    func isIdentifier(_ index: Int) -> Bool {
        guard let first = self[index].first else { return false }
        return first.isLetter || first == "_" || first == "$" || first == "`"
    }

    /// Whether it is the first part of `condition ? a : b`, rather than part of an optional's type or chain.
    func isTernary(_ index: Int) -> Bool { self[index] == "?" && all[index].followsSpace }

    private static let continuing: Set<Substring> = [
        "=", "->", ",", "&&", "||", "??", "==", "!=", "===", "!==", "<=", ">=", "<", ">", "+", "-", "*", "/",
        "%", "|", "&", "^", "+=", "-=", "&+", "&-", "..<", "...", "?", ":", "<<", ">>",
    ]

    /// Words that something follows, on the next line if not on theirs.
    private static let unfinished: Set<Substring> = [
        "guard", "if", "while", "for", "switch", "let", "var", "case", "where", "try", "await", "throw", "is",
        "as",
    ]

    /// Whether a statement begins there.
    func beginsStatement(_ index: Int) -> Bool {
        guard index > 0, index < count else { return true }
        let previous = self[index - 1]
        if enclosing[index] >= 0, self[enclosing[index]] != "{" { return false }
        if previous == ";" || index - 1 == enclosing[index] { return true }
        if !all[index].followsNewline { return false }
        let isLabelled = previous == ":" && !["?", ":"].contains(self[index])
        if isLabelled { return true }
        if Self.continuing.contains(previous), previous == "," || all[index - 1].followsSpace { return false }
        if Self.unfinished.contains(previous) { return false }
        if self[index] == "." || self[index] == "else" || self[index] == "catch" { return false }
        return !(Self.continuing.contains(self[index]) && index + 1 < count && all[index + 1].followsSpace)
    }
}

/// Reads one token after the other.
private struct TokenReader {
    private let source: String
    private let bytes: [UInt8]
    private var place = 0
    private var followsSpace = true
    private var followsNewline = true

    init(_ source: String) {
        self.source = source
        bytes = Array(source.utf8)
    }

    private static let operators: [[UInt8]] = [
        "===", "!==", "..<", "...", "&<<", "&>>", "<<=", ">>=",
        "->", "&&", "||", "==", "!=", "<=", ">=", "??", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "%=", "&+",
        "&-",
        "&*", "<<", ">>",
    ].map { Array($0.utf8) }

    private func byte(_ offset: Int = 0) -> UInt8 {
        place + offset < bytes.count ? bytes[place + offset] : 0
    }

    private func has(_ text: String) -> Bool { bytes[place...].starts(with: text.utf8) }

    mutating func next() -> Tokens.Token? {
        skipSpace()
        guard place < bytes.count else { return nil }
        let start = place
        readToken()
        let indices = source.utf8
        let first = indices.index(indices.startIndex, offsetBy: start)
        let last = indices.index(first, offsetBy: place - start)
        return Tokens.Token(
            text: source[first..<last], range: start..<place, followsSpace: followsSpace,
            followsNewline: followsNewline)
    }

    private mutating func skipSpace() {
        followsSpace = place == 0
        followsNewline = place == 0
        while place < bytes.count {
            if byte() == UInt8(ascii: "\n") {
                followsNewline = true
                place += 1
            } else if byte() <= 32 {
                place += 1
            } else if has("//") {
                while place < bytes.count, byte() != UInt8(ascii: "\n") { place += 1 }
            } else if has("/*") {
                while place < bytes.count, !has("*/") { place += 1 }
                place += 2
            } else {
                return
            }
            followsSpace = true
        }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        byte >= 128 || byte == UInt8(ascii: "_")
            || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
            || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
    }

    private mutating func readToken() {
        let first = byte()
        if first == UInt8(ascii: "\"") || has("#\"") { return readString() }
        if first == UInt8(ascii: "`") {
            repeat { place += 1 } while place < bytes.count && byte() != first
            return place += 1
        }
        let isSigil = "$#@".utf8.contains(first) && Self.isWord(byte(1))
        if isSigil || Self.isWord(first) {
            place += 1
            let isNumber = UInt8(ascii: "0")...UInt8(ascii: "9") ~= first
            while Self.isWord(byte())
                || isNumber && byte() == UInt8(ascii: ".") && UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte(1)
            { place += 1 }
            return
        }
        place += Self.operators.first { bytes[place...].starts(with: $0) }?.count ?? 1
    }

    private mutating func readString() {
        var hashes = ""
        while byte() == UInt8(ascii: "#") {
            hashes += "#"
            place += 1
        }
        let quote = has("\"\"\"") ? "\"\"\"" : "\""
        place += quote.utf8.count
        while place < bytes.count, !has(quote + hashes) {
            if has("\\" + hashes) {
                place += 1 + hashes.utf8.count
                if byte() == UInt8(ascii: "(") { skipInterpolation() } else { place += 1 }
            } else {
                place += 1
            }
        }
        place = min(bytes.count, place + quote.utf8.count + hashes.utf8.count)
    }

    private mutating func skipInterpolation() {
        var depth = 0
        repeat {
            if byte() == UInt8(ascii: "\"") {
                readString()
            } else {
                if byte() == UInt8(ascii: "(") { depth += 1 }
                if byte() == UInt8(ascii: ")") { depth -= 1 }
                place += 1
            }
        } while depth > 0 && place < bytes.count
    }
}
