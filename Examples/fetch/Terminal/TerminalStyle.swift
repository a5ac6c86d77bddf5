/// Which characters and colours a terminal can show.
struct TerminalStyle: Equatable, Sendable {
    var usesColour = true
    /// Whether lines, blocks and dots beyond ASCII can be shown.
    var usesUnicode = true

    enum Colour: String { case green = "32", yellow = "33", red = "31", cyan = "36", faint = "2", bold = "1" }

    func paint(_ text: String, _ colour: Colour) -> String {
        usesColour && !text.isEmpty ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }

    var ellipsis: Character { usesUnicode ? "…" : "~" }

    /// Returns a bar of so many columns, filled to `fraction`.
    func bar(_ columns: Int, filledTo fraction: Double) -> String {
        guard columns > 0 else { return "" }
        let halves = Int(min(1, max(0, fraction)) * Double(columns * 2))
        guard usesUnicode else {
            return paint(String(repeating: "#", count: halves / 2), .green)
                + paint(String(repeating: ".", count: columns - halves / 2), .faint)
        }
        let filled = String(repeating: "━", count: halves / 2) + (halves % 2 == 1 ? "╸" : "")
        // Without colour, a line would look like the filled part.
        let rest = String(repeating: usesColour ? "─" : " ", count: columns - (halves + 1) / 2)
        return paint(filled, .green) + paint(rest, .faint)
    }

    /// Returns a bar for an unknown length: a mark that moves with every step.
    func bar(_ columns: Int, step: Int) -> String {
        guard columns > 3 else { return String(repeating: " ", count: max(0, columns)) }
        let way = columns - 3
        let position = step % (2 * way)
        let before = position <= way ? position : 2 * way - position
        let rest: Character = usesUnicode ? (usesColour ? "─" : " ") : "."
        return paint(String(repeating: rest, count: before), .faint)
            + paint(usesUnicode ? "━━━" : "###", .green)
            + paint(String(repeating: rest, count: way - before), .faint)
    }
}
