extension Report {
    /// The report for people: first how Deferred compares, then every library's times, then allocations.
    var markdown: String {
        var sections = [
            """
            # Deferred and its peers

            \(machine.configuration) build, \(machine.processors) processors, \(machine.system). Nanoseconds per \
            item, median (least) of interleaved samples; a ratio is the median of Deferred's time by the peer's in \
            the same round: below 1, Deferred is faster.
            """,
            "## Ratios\n\n" + ratioTable,
            "## Times\n\n" + timeTable,
        ]
        if outcomes.contains(where: { $0.measurements.contains { $0.allocations != nil } }) {
            sections.append(
                "## Heap allocations per item: blocks / bytes (bytes still held)\n\n" + allocationTable)
        }
        if !memoryGrowth.isEmpty {
            sections.append("## Heap held in the middle of W7's recursion, bytes\n\n" + growthTable)
        }
        return sections.joined(separator: "\n\n")
    }

    private var ratioTable: String {
        table(
            [
                "workload", "value", "per", "Deferred", "to NIO embedded", "target", "met", "best peer",
                "to best",
            ],
            outcomes.map { outcome in
                let own = outcome.measurements.first { $0.library == .deferred }
                return [
                    "\(outcome.workload) \(outcome.title)", outcome.payload, outcome.unit,
                    own.map(times) ?? "", outcome.ratio(to: .embedded).map { fixed($0.median, 2) } ?? "",
                    outcome.target.map(wording) ?? "",
                    outcome.meetsTarget.map { $0 ? "yes" : "**no**" } ?? "",
                    outcome.best?.peer.rawValue ?? "", outcome.best.map { fixed($0.median, 2) } ?? "",
                ]
            })
    }

    private func wording(_ target: Target) -> String {
        target.peer == .embedded
            ? "≤ \(fixed(target.limit, 2))" : "≤ \(fixed(target.limit, 2)) of \(target.peer.rawValue)"
    }

    private var timeTable: String {
        perLibrary { times($0) }
    }

    private var allocationTable: String {
        perLibrary { measurement in
            guard let allocations = measurement.allocations, let bytes = measurement.bytes else { return "" }
            let held = measurement.liveBytes.flatMap { $0 < 1 ? nil : " (\(fixed($0, 0)))" } ?? ""
            return "\(fixed(allocations, 2)) / \(fixed(bytes, 0))\(held)"
        }
    }

    private var growthTable: String {
        let libraries = Library.allCases.filter { library in memoryGrowth.contains { $0.library == library } }
        let steps = Set(memoryGrowth.map(\.steps)).sorted()
        return table(
            ["steps"] + libraries.map(\.rawValue),
            steps.map { steps in
                ["\(steps)"]
                    + libraries.map { library in
                        memoryGrowth.first { $0.library == library && $0.steps == steps }
                            .map { "\($0.heldBytes)" } ?? ""
                    }
            })
    }

    private func perLibrary(_ cell: (Measurement) -> String) -> String {
        table(
            ["workload", "value"] + Library.allCases.map(\.rawValue),
            outcomes.map { outcome in
                [outcome.workload, outcome.payload]
                    + Library.allCases.map { library in
                        outcome.measurements.first { $0.library == library }.map(cell) ?? ""
                    }
            })
    }

    private func times(_ measurement: Measurement) -> String {
        "\(fixed(measurement.median, 0)) (\(fixed(measurement.minimum, 0)))"
    }

    private func table(_ head: [String], _ rows: [[String]]) -> String {
        ([head, head.map { _ in "---" }] + rows)
            .map { "| " + $0.joined(separator: " | ") + " |" }
            .joined(separator: "\n")
    }
}

/// A number with so many decimals, in figures that read the same everywhere.
func fixed(_ number: Double, _ decimals: Int) -> String {
    var scale = 1.0
    for _ in 0..<decimals { scale *= 10 }
    let scaled = Int((abs(number) * scale).rounded())
    let sign = number < 0 && scaled > 0 ? "-" : ""
    guard decimals > 0 else { return sign + "\(scaled)" }
    let fraction = "\(scaled % Int(scale))"
    return sign + "\(scaled / Int(scale))." + String(repeating: "0", count: decimals - fraction.count)
        + fraction
}
