/// Measuring text in columns of a terminal, and cutting it to a number of columns.
extension String {
    var columnCount: Int { reduce(0) { $0 + $1.columnCount } }

    /// Returns at most `limit` columns of this text. The middle is left out, where names differ least.
    func cut(to limit: Int, ellipsis: Character) -> String {
        guard columnCount > limit else { return self }
        guard limit > 1 else { return limit == 1 ? String(ellipsis) : "" }
        let tailLimit = (limit - 1) / 2
        var tail: [Character] = []
        var room = tailLimit
        for character in reversed() {
            room -= character.columnCount
            guard room >= 0 else { break }
            tail.append(character)
        }
        var head = ""
        room = limit - 1 - tail.reduce(0) { $0 + $1.columnCount }
        for character in self {
            room -= character.columnCount
            guard room >= 0 else { break }
            head.append(character)
        }
        return head + String(ellipsis) + String(tail.reversed())
    }

    /// Returns this text with spaces added on the right.
    func padded(to columns: Int) -> String {
        self + String(repeating: " ", count: max(0, columns - columnCount))
    }

    /// Returns this text with spaces added on the left.
    func aligned(to columns: Int) -> String {
        String(repeating: " ", count: max(0, columns - columnCount)) + self
    }

    /// This text with `?` for each character that is unsafe to print. Names and reasons may come from a server.
    var printable: String {
        guard unicodeScalars.contains(where: \.isUnsafeToPrint) else { return self }
        return String(String.UnicodeScalarView(unicodeScalars.map { $0.isUnsafeToPrint ? "?" : $0 }))
    }
}

extension Unicode.Scalar {
    /// Whether this could move the cursor, change colours, end the line, change the direction of the text around it, or
    /// be in a text without being seen. The joiners of emoji and of some scripts are safe.
    var isUnsafeToPrint: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: properties.isDefaultIgnorableCodePoint && self != "\u{200C}" && self != "\u{200D}"
        default: false
        }
    }
}

extension Character {
    /// Two for East Asian characters and emoji, none for a combining mark on its own.
    fileprivate var columnCount: Int {
        guard let first = unicodeScalars.first else { return 0 }
        if first.isASCII { return 1 }
        if unicodeScalars.count > 1, unicodeScalars.contains("\u{FE0F}") { return 2 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        if first.properties.isEmojiPresentation { return 2 }
        switch first.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
            0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
            return 2
        default:
            return 1
        }
    }
}
