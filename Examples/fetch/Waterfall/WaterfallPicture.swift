import Foundation

/// The waterfall as an SVG: a row for each download, time from left to right. Colours follow the viewer's
/// light or dark mode.
///
/// Each phase has a height of its own besides its colour, so that the picture can be read without colours.
struct WaterfallPicture {
    let timeline: Timeline
    let title: String

    private let width = 1220.0
    private let left = 250.0
    private let right = 360.0
    private let top = 92.0
    private var chartWidth: Double { width - left - right }

    /// The more rows, the lower they are. Thousands have no room for names, which then show as tooltips.
    private var rowHeight: Double {
        switch timeline.rows.count {
        case ...60: 24
        case ...200: 18
        case ...2000: 14
        default: 5
        }
    }

    /// A tall picture repeats the times, so that some are always in sight.
    private var rowsBetweenTimes: Int { Int(700 / rowHeight) / 10 * 10 }
    private let timesHeight = 22.0

    private func top(of row: Int) -> Double {
        top + Double(row) * rowHeight + Double(row / rowsBetweenTimes) * timesHeight
    }

    private var bottom: Double {
        timeline.rows.isEmpty ? top : top(of: timeline.rows.count - 1) + rowHeight
    }

    private var hasNames: Bool { rowHeight >= 14 }
    private var fontSize: Double { min(12, rowHeight - 4) }

    var svg: String {
        let height = bottom + 34
        let axis = TimeAxis(seconds: timeline.duration / .seconds(1), steps: 8)
        var parts = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(text(width)) \(text(height))" \
            width="\(text(width))" height="\(text(height))" role="img" aria-label="\(Self.escaped(title))">
            """,
            style,
            #"<rect class="paper" width="100%" height="100%"/>"#,
            #"<text class="title" x="16" y="30">\#(Self.escaped(title))</text>"#,
            legend,
            stripes,
            grid(axis),
        ]
        parts += timeline.rows.enumerated().map { row($1, at: top(of: $0), axis) }
        parts.append("</svg>\n")
        return parts.joined(separator: "\n")
    }

    private var style: String {
        """
        <style>
        text { font: \(text(fontSize))px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #3d4450 }
        .title { font-size: 16px; font-weight: 600; fill: #14181f }
        .legend, .tick { font-size: 11px }
        .tick { fill: #6b7380; stroke: #ffffff; stroke-width: 5px; paint-order: stroke }
        .paper { fill: #ffffff } .stripe { fill: #f5f6f8 } .grid { stroke: #e1e4e9 }
        .waiting { fill: #c3c8d1 } .asking { fill: #f0b429 } .receiving { fill: #2f7de1 } .pausing { fill: #a87be0 }
        .failed { fill: #d3302f } .failed-mark { stroke: #d3302f; stroke-width: 2; fill: none }
        .cancelled { fill: #6b7380 } .skipped { fill: #6b7380 }
        @media (prefers-color-scheme: dark) {
        text { fill: #c6ccd6 } .title { fill: #f2f4f8 } .tick { fill: #929bab; stroke: #14171c }
        .paper { fill: #14171c } .stripe { fill: #1b1f26 } .grid { stroke: #2d333d }
        .waiting { fill: #4b5361 } .asking { fill: #d89b1a } .receiving { fill: #4b93f0 } .pausing { fill: #a583d6 }
        .failed { fill: #ff6b66 } .failed-mark { stroke: #ff6b66 } .cancelled, .skipped { fill: #929bab }
        }
        </style>
        """
    }

    private var legend: String {
        let y = 52.0
        var parts: [String] = []
        var x = 16.0
        func add(_ name: String, _ symbol: (Double) -> String) {
            parts.append(symbol(x))
            parts.append(#"<text class="legend" x="\#(text(x + 26))" y="\#(text(y + 4))">\#(name)</text>"#)
            x += 50 + Double(name.count) * 5.6
        }
        let entries: [(Timeline.Phase, String)] = [
            (.waiting, "in the queue"), (.asking, "connecting, until the first byte"),
            (.receiving, "receiving"), (.pausing, "pausing before the next attempt"),
        ]
        for (phase, name) in entries { add(name) { bar(phase, x: $0, width: 20, middle: y, height: 12) } }
        add("failed") { cross($0 + 10, y) }
        add("cancelled") { stop($0 + 8, y, 12) }
        return parts.joined()
    }

    /// Stripes behind every other row, or behind five of ten narrow rows, that guide the eye.
    private var stripes: String {
        let rowsAtOnce = hasNames ? 1 : 5
        return stride(from: 0, to: timeline.rows.count, by: 2 * rowsAtOnce).map { first in
            let height = Double(min(rowsAtOnce, timeline.rows.count - first)) * rowHeight
            return
                """
                <rect class="stripe" y="\(text(top(of: first)))" width="\(text(width))" \
                height="\(text(height))"/>
                """
        }.joined(separator: "\n")
    }

    private func grid(_ axis: TimeAxis) -> String {
        let between = stride(from: rowsBetweenTimes, to: timeline.rows.count, by: rowsBetweenTimes)
            .map { top(of: $0) - timesHeight / 2 + 4 }
        let baselines = [top - 13] + between + [bottom + 18]
        return axis.ticks.map { tick in
            let x = text(self.x(tick, axis))
            let label = axis.label(tick)
            let line =
                #"<line class="grid" x1="\#(x)" x2="\#(x)" y1="\#(text(top - 8))" y2="\#(text(bottom + 4))"/>"#
            return line
                + baselines.map {
                    #"<text class="tick" text-anchor="middle" x="\#(x)" y="\#(text($0))">\#(label)</text>"#
                }.joined()
        }.joined(separator: "\n")
    }

    private func row(_ row: Timeline.Row, at y: Double, _ axis: TimeAxis) -> String {
        let middle = y + rowHeight / 2
        let baseline = text(middle + fontSize * 0.36)
        let end = row.end?.rawValue ?? ""
        var parts = ["<g><title>\(Self.escaped(details(of: row)))</title>"]
        if hasNames {
            let columns = Int((left - 30) / (fontSize * 0.58))
            let name = Self.escaped(row.name.cut(to: columns, ellipsis: "…"))
            parts.append(#"<text text-anchor="end" x="\#(text(left - 12))" y="\#(baseline)">\#(name)</text>"#)
        }
        for span in row.spans {
            let start = x(span.start / .seconds(1), axis)
            let width = x(span.end / .seconds(1), axis) - start
            // Phases too short to be seen are left out, except for receiving.
            guard width >= 0.3 || span.phase == .receiving else { continue }
            parts.append(
                bar(span.phase, x: start, width: max(width, 1.5), middle: middle, height: rowHeight * 0.6))
        }
        let last = x((row.spans.last?.end ?? .zero) / .seconds(1), axis)
        switch row.end {
        case .failed: parts.append(cross(last, middle))
        case .cancelled: parts.append(stop(last, middle, rowHeight * 0.6))
        case .fetched, .skipped, nil: break
        }
        if hasNames {
            let columns = Int((right - 24) / (fontSize * 0.56))
            let note = Self.escaped(row.note.cut(to: columns, ellipsis: "…"))
            parts.append(
                #"<text class="\#(end)" x="\#(text(width - right + 16))" y="\#(baseline)">\#(note)</text>"#)
        }
        parts.append("</g>")
        return parts.joined()
    }

    /// Waiting is a thin line, asking a slim bar, receiving a full one, pausing dots.
    private func bar(_ phase: Timeline.Phase, x: Double, width: Double, middle: Double, height: Double)
        -> String
    {
        func rectangle(_ x: Double, _ width: Double, _ height: Double) -> String {
            """
            <rect class="\(phase)" x="\(text(x))" y="\(text(middle - height / 2))" width="\(text(width))" \
            height="\(text(height))"/>
            """
        }
        switch phase {
        case .waiting: return rectangle(x, width, max(1, height / 8))
        case .asking: return rectangle(x, width, height / 2)
        case .receiving: return rectangle(x, width, height)
        case .pausing:
            let count = min(60, max(1, Int(width / 5)))
            return (0..<count).map { rectangle(x + Double($0) * width / Double(count), 2, 2) }.joined()
        }
    }

    private func cross(_ x: Double, _ y: Double) -> String {
        let arm = min(4, rowHeight * 0.3)
        let (x0, x1, y0, y1) = (text(x - arm), text(x + arm), text(y - arm), text(y + arm))
        return #"<path class="failed-mark" d="M\#(x0) \#(y0)L\#(x1) \#(y1)M\#(x0) \#(y1)L\#(x1) \#(y0)"/>"#
    }

    private func stop(_ x: Double, _ middle: Double, _ height: Double) -> String {
        """
        <rect class="cancelled" x="\(text(x))" y="\(text(middle - height * 0.65))" width="3" \
        height="\(text(height * 1.3))"/>
        """
    }

    private func x(_ seconds: Double, _ axis: TimeAxis) -> Double { left + seconds / axis.span * chartWidth }

    private func details(of row: Timeline.Row) -> String {
        let phases = row.spans.filter { $0.end > $0.start }.map {
            "\($0.phase) \(Amount.span($0.end - $0.start))"
        }
        return ([row.url, row.note] + phases).filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private func text(_ number: Double) -> String {
        let rounded = (number * 10).rounded() / 10
        return rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
    }

    /// Escapes text for XML text and attributes. Characters that XML cannot contain become `?`.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\n", "\t": escaped.unicodeScalars.append(scalar)
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{FFFE}", "\u{FFFF}": escaped += "?"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
