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
        if run.contents.dropped > 0 {
            let note = "\(run.contents.dropped) later events were dropped"
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
        let (ending, mark) = ending(of: item)
        let label = "\"\(site) <br/> \(Self.escaped(ending))\""
        let shape =
            switch item.made.origin {
            case .list: "{{\(label)}}"
            case .source, .resolver, .settled, .task, .after: "([\(label)])"
            default: "[\(label)]"
            }
        return "    d\(number)\(shape)\(mark)"
    }

    /// What became of it, in words, and the class of its box.
    private func ending(of item: RecordedRun.Item) -> (words: String, mark: String) {
        let span = Self.span((item.last?.time ?? run.end) - item.first.time)
        let time = item.known.wasSettled ? "" : " after \(span)"
        switch item.outcome {
        case .value: return ("value\(time)", "")
        case .failure(let text): return ("failure\(time): \(text)", ":::failed")
        case .cancelled: return ("cancelled\(time)", ":::cancelled")
        case nil where item.known.wasSettled: return ("was settled", "")
        case nil where item.bypassedBy != nil: return ("handed on after \(span)", "")
        case nil: break
        }
        let wait = item.waits.last { $0.end == nil }?.start.action
        let reason =
            switch wait?.kind {
            case nil: ""
            case .waits: ", waits for a nested Deferred"
            case .follows: ", follows another"
            default: ", its callback waits on \(wait?.queue ?? "")"
            }
        return ("pending for \(span)\(reason)", ":::pending")
    }

    private func edges(to number: Int, _ item: RecordedRun.Item) -> [String] {
        var edges = item.attachedTo.map { "    d\($0) --> d\(number)" }
        for wait in item.waits.map(\.start.action) {
            guard let other = wait.other else { continue }
            edges.append("    d\(other) -. \(wait.kind == .waits ? "nested" : "followed") .-> d\(number)")
        }
        return edges
    }

    /// `250 ms`, `1.25 s`, `980 ns`: rounded to three digits.
    static func span(_ time: Duration) -> String {
        let units: [(name: String, size: Duration)] = [
            ("s", .seconds(1)), ("ms", .milliseconds(1)), ("µs", .microseconds(1)),
        ]
        // Rounded, 999.5 ms are 1 s.
        let (unit, size) = units.first { time >= $0.size * 0.9995 } ?? ("ns", .nanoseconds(1))
        let number = time / size
        let step = number >= 99.95 ? 1.0 : number >= 9.995 ? 10 : 100
        let rounded = (number * step).rounded() / step
        return "\(rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)") \(unit)"
    }

    /// For a label in quotes. Characters with a meaning in Mermaid, Markdown or HTML are written as their
    /// numbers.
    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}": " "
            case "\u{A0}"..., "a"..."z", "A"..."Z", "0"..."9": "\(scalar)"
            default: " .,/()_-+='!?".unicodeScalars.contains(scalar) ? "\(scalar)" : "#\(scalar.value);"
            }
        }
        .joined()
    }
}
