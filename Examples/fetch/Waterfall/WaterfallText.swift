/// The waterfall in characters, for a terminal of 80 columns.
struct WaterfallText {
    let timeline: Timeline
    let style: TerminalStyle

    private let columns = 80
    private let chartColumns = 36
    private var nameColumns: Int { min(12, timeline.rows.map(\.name.columnCount).max() ?? 0) }
    /// The rest, after name, chart, mark and the gaps between them.
    private var noteColumns: Int { columns - nameColumns - chartColumns - 5 }

    var lines: [String] {
        let total = max(timeline.duration, .milliseconds(1))
        let scale = "".padded(to: nameColumns) + "  0" + Amount.span(total).aligned(to: chartColumns - 1)
        let legend = Timeline.Phase.allCases.map { paint(String(symbol($0)), $0) + " \($0)" }.joined(
            separator: "   ")
        return [scale] + timeline.rows.map { line(for: $0, total) } + [
            "", "".padded(to: nameColumns + 2) + legend,
        ]
    }

    private func line(for row: Timeline.Row, _ total: Duration) -> String {
        var chart = ""
        var column = 0
        for span in row.spans {
            let last = Int((span.end / total * Double(chartColumns)).rounded())
            // Anything that happened is at least one column wide, if there is one left.
            let end = min(chartColumns, span.phase == .waiting ? last : max(last, column + 1))
            guard end > column else { continue }
            chart += paint(String(repeating: symbol(span.phase), count: end - column), span.phase)
            column = end
        }
        let end: String =
            switch row.end {
            case .failed: style.paint(style.usesUnicode ? "✗" : "x", .red)
            case .cancelled: style.paint("|", .bold)
            default: " "
            }
        let rest = String(repeating: " ", count: chartColumns - column)
        return row.name.cut(to: nameColumns, ellipsis: style.ellipsis).padded(to: nameColumns) + "  " + chart
            + end + rest
            + "  " + row.note.printable.cut(to: noteColumns, ellipsis: style.ellipsis)
    }

    private func symbol(_ phase: Timeline.Phase) -> Character {
        switch phase {
        case .waiting: style.usesUnicode ? "·" : "."
        case .asking: style.usesUnicode ? "─" : "-"
        case .receiving: style.usesUnicode ? "█" : "#"
        case .pausing: style.usesUnicode ? "╌" : "~"
        }
    }

    private func paint(_ text: String, _ phase: Timeline.Phase) -> String {
        switch phase {
        case .waiting: style.paint(text, .faint)
        case .asking: style.paint(text, .yellow)
        case .receiving: style.paint(text, .cyan)
        case .pausing: style.paint(text, .faint)
        }
    }
}
