/// Lines at the bottom of a terminal that are drawn again and again in the same place.
struct Frame {
    private var widths: [Int] = []

    /// What must be written to have `above` stay for good above the frame, and `lines` be the frame from now
    /// on, on a terminal that is so many columns wide now.
    ///
    /// All in one, and each line over the old one, so that nothing flickers. Lines that were drawn on a wider
    /// terminal are folded over several rows by now, and those rows are counted.
    mutating func redraw(_ lines: [String], above: String = "", columns: Int) -> String {
        let rows = widths.reduce(0) { $0 + max(1, ($1 + columns - 1) / max(1, columns)) }
        var text = rows > 0 ? "\r\u{1B}[\(rows)A" : ""
        // What stays may be of any length: it is written over cleared rows.
        if !above.isEmpty { text += "\u{1B}[J" + above }
        for line in lines { text += line + "\u{1B}[K\n" }
        if rows > 0, above.isEmpty { text += "\u{1B}[J" }
        widths = lines.map(\.withoutColours.columnCount)
        return text
    }

    var isShown: Bool { !widths.isEmpty }
}

extension String {
    /// Without the escape sequences that ``TerminalStyle`` puts in.
    var withoutColours: String { replacing(/\u{1B}\[[0-9;]*m/, with: "") }
}
