internal import Deferred

/// A recording as a flowchart in Mermaid's language: a box for each Deferred, and arrows the way results
/// went.
struct MermaidGraph {
    private let run: RecordedRun

    init(_ run: RecordedRun) { self.run = run }

    var text: String {
        var lines = ["flowchart TD"]
        lines += run.items.enumerated().map { node($0 + 1, $1) }
        lines += run.items.enumerated().flatMap { edges(to: $0 + 1, $1) }
        if run.droppedEventCount > 0 {
            let note = "\(run.droppedEventCount) later events were dropped"
            lines.append("    dropped[\"\(Self.escaped(note))\"]:::pending")
        }
        lines += [
            "    classDef failed stroke:#d3302f,stroke-width:2px", "    classDef cancelled stroke:#6b7380",
            "    classDef pending stroke-dasharray:4 3",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private func node(_ number: Int, _ item: RecordedRun.Item) -> String {
        let site = "\(Self.escaped(item.code)):\(item.made.line)"
        let label = "\"\(site) <br/> \(Self.escaped(ending(of: item)))\""
        let shape =
            switch item.made.origin {
            case .list: "{{\(label)}}"
            case .source, .resolver, .settled, .task, .after: "([\(label)])"
            default: "[\(label)]"
            }
        let mark: String =
            switch item.outcome {
            case .value: ""
            case .failure: ":::failed"
            case .cancelled: ":::cancelled"
            case nil: item.bypassedBy == nil && !item.hadFired ? ":::pending" : ""
            }
        return "    d\(number)\(shape)\(mark)"
    }

    private func ending(of item: RecordedRun.Item) -> String {
        let span = Self.span((item.end ?? run.end) - item.first)
        let time = item.hadFired ? "" : " after \(span)"
        switch item.outcome {
        case .value: return "value\(time)"
        case .failure(let text): return "failure\(time): \(text)"
        case .cancelled: return "cancelled\(time)"
        case nil: break
        }
        if item.hadFired { return "had fired" }
        if item.bypassedBy != nil { return "handed on after \(span)" }
        guard let wait = item.waits.last(where: { $0.end == nil }) else { return "pending for \(span)" }
        switch wait.object {
        case .nested: return "pending for \(span), waits for a nested Deferred"
        case .followed: return "pending for \(span), follows another"
        case .dispatcher(let name): return "pending for \(span), its callback waits on \(name)"
        }
    }

    private func edges(to number: Int, _ item: RecordedRun.Item) -> [String] {
        var edges = item.attachedTo.map { "    d\($0) --> d\(number)" }
        for wait in item.waits {
            switch wait.object {
            case .nested(let inner): edges.append("    d\(inner) -. nested .-> d\(number)")
            case .followed(let other): edges.append("    d\(other) -. followed .-> d\(number)")
            case .dispatcher: break
            }
        }
        return edges
    }

    /// `250 ms`, `1.25 s`, `980 ns`: rounded to three digits.
    static func span(_ nanoseconds: UInt64) -> String {
        guard let (unit, size) = units.first(where: { nanoseconds >= $0.size }) else {
            return "\(nanoseconds) ns"
        }
        let whole = nanoseconds / size
        let step = size / (whole >= 100 ? 1 : whole >= 10 ? 10 : 100)
        let rounded = (nanoseconds + step / 2) / step * step
        // Rounding may have reached the next unit, such as 1,000 ms.
        guard rounded == nanoseconds else { return span(rounded) }
        let number = "\(Double(nanoseconds) / Double(size))"
        return "\(number.hasSuffix(".0") ? String(number.dropLast(2)) : number) \(unit)"
    }

    private static let units: [(name: String, size: UInt64)] = [
        ("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1000),
    ]

    /// For a label in quotes. Characters with a meaning in Mermaid, Markdown or HTML are written as their
    /// numbers.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", " ", ".", ",", "/", "(", ")", "_", "-", "+", "=", "'", "!",
                "?":
                escaped.unicodeScalars.append(scalar)
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
                escaped += " "
            case "\u{A0}"...:
                escaped.unicodeScalars.append(scalar)
            default:
                escaped += "#\(scalar.value);"
            }
        }
        return escaped
    }
}
