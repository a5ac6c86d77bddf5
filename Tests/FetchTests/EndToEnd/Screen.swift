/// A terminal's screen: it understands the bytes that fetch writes, and records all others.
struct Screen {
    private(set) var columns: Int
    /// All lines, including those that have scrolled away.
    private var lines: [[Character]] = [[]]
    private var row = 0
    private var column = 0
    /// Escape sequences that are not supported.
    private(set) var unknown: [String] = []

    init(columns: Int) { self.columns = columns }

    /// The text, without trailing spaces and empty lines.
    var text: [String] {
        var text = lines.map { line in
            var line = line
            while line.last == " " { line.removeLast() }
            return String(line)
        }
        while text.last == "" { text.removeLast() }
        return text
    }

    /// Wraps lines that have become too long into more rows, as terminals do, including the line of the
    /// cursor.
    mutating func resize(columns: Int) {
        self.columns = columns
        var folded: [[Character]] = []
        var newRow = 0
        for (index, line) in lines.enumerated() {
            if index == row { newRow = folded.count + column / columns }
            var rest = line[...]
            repeat {
                folded.append(Array(rest.prefix(columns)))
                rest = rest.dropFirst(columns)
            } while !rest.isEmpty
        }
        lines = folded
        row = newRow
        column %= columns
    }

    mutating func show(_ bytes: String) {
        var rest = Substring(bytes)
        while let character = rest.popFirst() {
            switch character {
            case "\r\n":
                newLine()
                column = 0
            case "\n": newLine()
            case "\r": column = 0
            case "\u{1B}":
                guard let match = rest.prefixMatch(of: /\[([0-9;]*)([A-Za-z])/) else {
                    unknown.append(String(rest.prefix(8)))
                    continue
                }
                rest = rest[match.range.upperBound...]
                control(String(match.2), Int(match.1))
            default: put(character)
            }
        }
    }

    private mutating func newLine() {
        row += 1
        if row == lines.count { lines.append([]) }
    }

    private mutating func put(_ character: Character) {
        if column == columns {
            newLine()
            column = 0
        }
        while lines[row].count <= column { lines[row].append(" ") }
        lines[row][column] = character
        column += 1
    }

    private mutating func control(_ letter: String, _ number: Int?) {
        switch letter {
        case "A": row = max(0, row - (number ?? 1))
        case "J":
            lines[row].removeSubrange(min(column, lines[row].count)...)
            lines.removeSubrange((row + 1)...)
        case "K": lines[row].removeSubrange(min(column, lines[row].count)...)
        case "m": break
        default: unknown.append("[\(number.map(String.init) ?? "")\(letter)")
        }
    }
}
