/// Lines at the bottom of a terminal that are redrawn in place.
struct LiveLines {
    private var widths: [Int] = []

    /// Returns the text that writes `above`, which stays, and replaces the live lines below it by `lines`,
    /// on a terminal of so many columns.
    ///
    /// It is one text, and each line overwrites an old one, so that nothing flickers. Lines that were drawn
    /// on a wider terminal now take several rows, which are counted.
    mutating func redraw(_ lines: [String], above: String = "", columns: Int) -> String {
        let rows = widths.reduce(0) { $0 + max(1, ($1 + columns - 1) / max(1, columns)) }
        var text = rows > 0 ? "\r\u{1B}[\(rows)A" : ""
        // `above` may be of any length: the rows are cleared first.
        if !above.isEmpty { text += "\u{1B}[J" + above }
        for line in lines { text += line + "\u{1B}[K\n" }
        if rows > 0, above.isEmpty { text += "\u{1B}[J" }
        widths = lines.map(\.withoutColours.columnCount)
        return text
    }

    var isShown: Bool { !widths.isEmpty }
}

extension String {
    /// This text without the escape sequences of ``TerminalStyle``.
    var withoutColours: String { replacing(/\u{1B}\[[0-9;]*m/, with: "") }
}
