#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Draws the growth curves as an SVG picture: one panel each, sizes on a logarithmic axis, nanoseconds per
/// item from zero.
///
/// The picture has no background and uses the colours of the reader's light or dark scheme.
struct CurveDrawing {
    let panels: [Curves.Panel]

    private let columns = 2
    private let panelSize = (width: 430.0, height: 236.0)
    /// The distance from a panel's edges to its axes.
    private let inset = (left: 52.0, right: 18.0, top: 34.0, bottom: 44.0)
    private let header = 64.0

    var svg: String {
        let rows = (panels.count + columns - 1) / columns
        let width = panelSize.width * Double(columns)
        let height = header + panelSize.height * Double(rows)
        var parts = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(fixed(width, 0)) \(fixed(height, 0))" \
            font-family="system-ui, sans-serif" font-size="12" role="img" aria-labelledby="title">
            <title id="title">Nanoseconds per item against size, for Deferred and NIO's embedded event loop</title>
            <style>
              text { fill: #1f2328 } .quiet { fill: #59636e } .head { font-weight: 600; font-size: 13px }
              .grid { stroke: #d1d9e0 } .Deferred { stroke: #0969da; fill: #0969da } .peer { stroke: #bf5b04; \
            fill: #bf5b04 }
              polyline { fill: none !important; stroke-width: 2; stroke-linejoin: round } circle { stroke: none }
              @media (prefers-color-scheme: dark) {
                text { fill: #f0f6fc } .quiet { fill: #9198a1 } .grid { stroke: #3d444d }
                .Deferred { stroke: #4493f8; fill: #4493f8 } .peer { stroke: #e3924a; fill: #e3924a }
              }
            </style>
            """
        ]
        parts.append(text("How cost grows with size", at: (16, 24), style: "head", anchor: "start"))
        parts.append(
            text(
                "Nanoseconds per item (least of several runs, release build), from 10 items to 1,000,000. "
                    + "A level line is linear growth.",
                at: (16, 42), style: "quiet", anchor: "start"))
        parts.append(legend(at: (width - 236, 20)))
        for (index, panel) in panels.enumerated() {
            let x = Double(index % columns) * panelSize.width
            let y = header + Double(index / columns) * panelSize.height
            parts.append("<g transform=\"translate(\(fixed(x, 0)) \(fixed(y, 0)))\">")
            parts.append(drawing(of: panel))
            parts.append("</g>")
        }
        parts.append("</svg>\n")
        return parts.joined(separator: "\n")
    }

    private func legend(at point: (x: Double, y: Double)) -> String {
        var parts: [String] = []
        var x = point.x
        for (style, title) in [("Deferred", "Deferred"), ("peer", "NIO embedded")] {
            parts.append(
                "<line class=\"\(style)\" stroke-width=\"2\" x1=\"\(fixed(x, 0))\" x2=\"\(fixed(x + 18, 0))\" "
                    + "y1=\"\(fixed(point.y, 0))\" y2=\"\(fixed(point.y, 0))\"/>")
            parts.append(text(title, at: (x + 24, point.y + 4), anchor: "start"))
            x += 100
        }
        return parts.joined(separator: "\n")
    }

    private func drawing(of panel: Curves.Panel) -> String {
        let highest = panel.lines.flatMap(\.points).map(\.nanoseconds).max() ?? 1
        let step = Self.gridStep(upTo: highest)
        let top = (highest / step).rounded(.up) * step
        let plot = (
            left: inset.left, right: panelSize.width - inset.right, top: inset.top,
            bottom: panelSize.height - inset.bottom
        )
        func place(_ point: Curves.Point) -> (x: Double, y: Double) {
            let along = (log10(Double(point.size)) - 1) / 5
            return (
                plot.left + along * (plot.right - plot.left),
                plot.bottom - point.nanoseconds / top * (plot.bottom - plot.top)
            )
        }

        var parts = [text(panel.title, at: (plot.left, 20), style: "head", anchor: "start")]
        for value in stride(from: 0, through: top + step / 2, by: step) {
            let y = place(Curves.Point(size: 10, nanoseconds: value)).y
            parts.append(
                "<line class=\"grid\" x1=\"\(fixed(plot.left, 1))\" x2=\"\(fixed(plot.right, 1))\" "
                    + "y1=\"\(fixed(y, 1))\" y2=\"\(fixed(y, 1))\"/>")
            parts.append(text(fixed(value, 0), at: (plot.left - 6, y + 4), style: "quiet", anchor: "end"))
        }
        for (size, title) in [
            (10, "10"), (100, "100"), (1_000, "1 k"), (10_000, "10 k"), (100_000, "100 k"),
            (1_000_000, "1 M"),
        ] {
            let x = place(Curves.Point(size: size, nanoseconds: 0)).x
            let anchor = size == 1_000_000 ? "end" : "middle"
            let edge = size == 1_000_000 ? x + inset.right - 2 : x
            parts.append(text(title, at: (edge, plot.bottom + 16), style: "quiet", anchor: anchor))
        }
        parts.append(
            text("ns per \(panel.unit)", at: (plot.right, 20), style: "quiet", anchor: "end"))
        for line in panel.lines.reversed() {
            let style = line.library == .deferred ? "Deferred" : "peer"
            let points = line.points.map(place)
            let list = points.map { "\(fixed($0.x, 1)),\(fixed($0.y, 1))" }.joined(separator: " ")
            parts.append("<polyline class=\"\(style)\" points=\"\(list)\"/>")
            for point in points {
                parts.append(
                    "<circle class=\"\(style)\" cx=\"\(fixed(point.x, 1))\" cy=\"\(fixed(point.y, 1))\" r=\"2.5\"/>"
                )
            }
        }
        return parts.joined(separator: "\n")
    }

    /// Returns a round number that divides the axis into three to six steps.
    private static func gridStep(upTo highest: Double) -> Double {
        var decade = 1.0
        while decade * 10 <= highest { decade *= 10 }
        return [0.2, 0.5, 1, 2].map { $0 * decade }.first { highest / $0 <= 6 } ?? decade * 2
    }

    private func text(
        _ words: String, at point: (x: Double, y: Double), style: String? = nil, anchor: String
    ) -> String {
        let style = style.map { " class=\"\($0)\"" } ?? ""
        return "<text\(style) x=\"\(fixed(point.x, 1))\" y=\"\(fixed(point.y, 1))\" "
            + "text-anchor=\"\(anchor)\">\(words)</text>"
    }
}
