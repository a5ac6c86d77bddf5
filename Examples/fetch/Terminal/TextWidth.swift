/// How many columns of a terminal a text takes, and cutting it to so many.
extension String {
    var columnCount: Int { reduce(0) { $0 + $1.columnCount } }

    /// At most `limit` columns: what is too much is left out of the middle, where names differ least.
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

    /// Filled up with spaces on the right.
    func padded(to columns: Int) -> String {
        self + String(repeating: " ", count: max(0, columns - columnCount))
    }

    /// Filled up with spaces on the left.
    func aligned(to columns: Int) -> String {
        String(repeating: " ", count: max(0, columns - columnCount)) + self
    }

    /// With what would move the cursor or change colours on a terminal shown as `?`: names and reasons come
    /// from strangers.
    var printable: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        return String(String.UnicodeScalarView(unicodeScalars.map { $0.isControl ? "?" : $0 }))
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool { properties.generalCategory == .control }
}

extension Character {
    /// Two for what East Asian scripts and emoji take, none for a mark that stands alone.
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
