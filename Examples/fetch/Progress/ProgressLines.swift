/// Renders the progress of all downloads as lines of text, for a time and a size of the terminal.
struct ProgressLines {
    /// Columns of the terminal. The last one stays empty, as some terminals begin a new line after it.
    let width: Int
    /// Rows that are available.
    let height: Int
    let style: TerminalStyle

    /// Returns a line for each running download, as far as there is room, and one for all of them together.
    func render(_ state: ProgressState, at time: Duration) -> [String] {
        let running = state.running
        let room = max(0, height - 1)
        let shown = running.count <= room ? running[...] : running.prefix(max(0, room - 1))
        var lines = shown.map { line(for: $0, at: time) }
        if shown.count < running.count, room > 0 {
            lines.append(
                style.paint(
                    "and \(running.count - shown.count) more".cut(to: usable, ellipsis: style.ellipsis),
                    .faint))
        }
        if height > 0 { lines.append(overallLine(state, at: time)) }
        return lines
    }

    private var usable: Int { max(1, width - 1) }
    private var isNarrow: Bool { width < 72 }
    private var nameColumns: Int { min(50, max(4, isNarrow ? usable / 4 : usable * 3 / 10)) }

    /// Widths of the columns for bytes, rate and time left.
    private var amountColumns: (bytes: Int, rate: Int, timeLeft: Int) { isNarrow ? (5, 7, 5) : (8, 10, 5) }
    private var gap: String { isNarrow ? " " : "  " }

    private func line(for download: ProgressState.Active, at time: Duration) -> String {
        let name = download.name.printable.cut(to: nameColumns, ellipsis: style.ellipsis).padded(
            to: nameColumns)
        let rest = usable - nameColumns - gap.count
        guard rest > 0 else { return name.cut(to: usable, ellipsis: style.ellipsis) }
        switch download.phase {
        case .asking:
            return name + gap
                + style.paint("waiting for an answer".cut(to: rest, ellipsis: style.ellipsis), .faint)
        case .checking:
            return name + gap
                + style.paint("checking the checksum".cut(to: rest, ellipsis: style.ellipsis), .faint)
        case .pausing(let reason, let until):
            let text = "again in \(Amount.wait(until - time)): \(reason.printable)"
            return name + gap + style.paint(text.cut(to: rest, ellipsis: style.ellipsis), .yellow)
        case .receiving:
            let rate = download.rate.rate(at: time)
            let left = download.expected.map { max(0, $0 - download.received) }
            let amounts = amounts(
                download.received, rate, timeLeft: left.flatMap { Self.seconds(for: Double($0), at: rate) })
            let barColumns = rest - amounts.columnCount - gap.count
            guard barColumns >= 3 else { return name + gap + amounts.cut(to: rest, ellipsis: style.ellipsis) }
            let bar =
                if let expected = download.expected, expected > 0 {
                    style.bar(barColumns, filledTo: Double(download.received) / Double(expected))
                } else {
                    style.bar(barColumns, step: Int(time / .milliseconds(100)))
                }
            return name + gap + bar + gap + amounts
        }
    }

    private func overallLine(_ state: ProgressState, at time: Duration) -> String {
        var counts =
            isNarrow ? "\(state.fetched)/\(state.total)" : "\(state.fetched) of \(state.total) fetched"
        let failures = state.others.isEmpty ? "" : (isNarrow ? " " : "; ") + state.others
        let amounts = amounts(state.received, state.rate.rate(at: time), timeLeft: timeLeft(state, at: time))
        let room = usable - amounts.columnCount - gap.count
        guard room > 0 else { return amounts.cut(to: usable, ellipsis: style.ellipsis) }
        counts = (counts + failures).cut(to: room, ellipsis: style.ellipsis)
        let columns = max(counts.columnCount, min(room, nameColumns))
        let barColumns = room - columns - gap.count
        let painted =
            state.failed + state.cancelled == 0 || !counts.hasSuffix(failures)
            ? counts : String(counts.dropLast(failures.count)) + style.paint(failures, .red)
        let filling = String(repeating: " ", count: columns - counts.columnCount)
        guard barColumns >= 3 else {
            return painted + String(repeating: " ", count: room - counts.columnCount) + gap + amounts
        }
        let bar = style.bar(
            barColumns, filledTo: state.total == 0 ? 1 : Double(state.ended) / Double(state.total))
        return painted + filling + gap + bar + gap + amounts
    }

    private func amounts(_ bytes: Int64, _ rate: Double?, timeLeft: Double?) -> String {
        let columns = amountColumns
        let byteText = isNarrow ? Amount.shortBytes(bytes) : Amount.bytes(bytes)
        let rateText = rate.map { isNarrow ? Amount.shortRate($0) : Amount.rate($0) } ?? ""
        return [
            byteText.aligned(to: columns.bytes), rateText.aligned(to: columns.rate),
            (timeLeft.map(Amount.timeLeft) ?? "").aligned(to: columns.timeLeft),
        ].joined(separator: gap)
    }

    /// Estimated from the bytes, if all downloads have begun and their lengths are known, else from the
    /// share of downloads that have ended. Nil while a download of unknown length is running: it may have
    /// no end.
    private func timeLeft(_ state: ProgressState, at time: Duration) -> Double? {
        let running = state.running
        guard !running.contains(where: { $0.phase == .receiving && $0.expected == nil }) else { return nil }
        let begun = state.ended + running.count
        if begun == state.total, running.allSatisfy({ $0.expected != nil }) {
            let left = running.reduce(0) { $0 + max(0, ($1.expected ?? 0) - $1.received) }
            return Self.seconds(for: Double(left), at: state.rate.rate(at: time))
        }
        guard state.ended > 0 else { return nil }
        return (time / .seconds(1)) / Double(state.ended) * Double(state.total - state.ended)
    }

    private static func seconds(for amount: Double, at rate: Double?) -> Double? {
        guard amount > 0 else { return 0 }
        guard let rate, rate > 0 else { return nil }
        return amount / rate
    }
}
