extension BenchmarkReport {
    /// The report in Markdown, short enough to read. ``json`` has all figures.
    var markdown: String {
        var sections = [
            """
            # Deferred and its peers

            \(machine.configuration) build, \(machine.processors) processors, \(machine.system). A ratio is the \
            median of Deferred's time by the peer's, over interleaved samples: below 1, Deferred is faster. Bold: \
            above its target. The floor is the lowest ratio that is possible, by the count of the operations that \
            cannot be left out. Times are nanoseconds, the median for an `Int`, and differ from machine to machine.
            """,
            ratioTable,
        ]
        if !memoryGrowth.isEmpty {
            sections.append("Heap in use in the middle of W7's recursion, bytes:\n\n" + growthTable)
        }
        return sections.joined(separator: "\n\n")
    }

    /// A row for each workload, with the ratios for its three payloads side by side.
    private var ratioTable: String {
        let values = [Int.title, Wide.title, Reference.title]
        var names: [String] = []
        for outcome in outcomes where names.last != outcome.workload && !names.contains(outcome.workload) {
            names.append(outcome.workload)
        }
        return table(
            ["workload", "ns", "beside", "ratio: " + values[0]] + values.dropFirst() + ["target", "floor"],
            names.map { name in
                let rows = outcomes.filter { $0.workload == name }
                let first = rows[0]
                let target = first.target
                return [
                    "\(name) \(first.title), per \(first.unit)",
                    first.measurements.first { $0.library == .deferred }.map { fixed($0.median, 0) } ?? "",
                    (target?.peer ?? first.best?.peer)?.rawValue ?? "",
                ] + values.map { value in rows.first { $0.payload == value }.map(ratio) ?? "" } + [
                    target?.limit.map { fixed($0, 2) } ?? "", target?.floor.map { fixed($0, 2) } ?? "",
                ]
            })
    }

    private func ratio(_ outcome: WorkloadResult) -> String {
        let ratio = outcome.target.map { outcome.ratio(to: $0.peer) } ?? outcome.best
        guard let text = ratio.map({ fixed($0.median, 2) }) else { return "" }
        return outcome.meetsTarget == false ? "**\(text)**" : text
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

    private func table(_ head: [String], _ rows: [[String]]) -> String {
        ([head, head.map { _ in "---" }] + rows)
            .map { "| " + $0.joined(separator: " | ") + " |" }
            .joined(separator: "\n")
    }
}

/// Formats a number with the given number of decimals, independent of the locale.
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
