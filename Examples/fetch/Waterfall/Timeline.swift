/// When each transfer waited, asked, received and paused: what the waterfall is drawn from. Times are since
/// the start.
struct Timeline: Sendable {
    enum Phase: String, CaseIterable, Sendable {
        /// Its turn has not come.
        case waiting
        /// Connecting, and until the first byte of the answer.
        case asking
        case receiving
        /// Between one try and the next.
        case pausing
    }

    enum End: String, Sendable { case fetched, skipped, failed, cancelled }

    struct Span: Equatable, Sendable {
        let phase: Phase
        let start: Duration
        var end: Duration
    }

    struct Row: Sendable {
        let name: String
        let url: String
        /// One after another; the first begins at zero.
        fileprivate(set) var spans: [Span]
        fileprivate(set) var end: End?
        /// What came of it: an amount, or a reason.
        fileprivate(set) var note = ""
    }

    private(set) var rows: [Row] = []

    /// A transfer that waits for its turn from `time` on.
    mutating func add(name: String, url: String, at time: Duration = .zero) {
        rows.append(Row(name: name, url: url, spans: [Span(phase: .waiting, start: time, end: time)]))
    }

    /// The transfer is in `phase` from now on.
    mutating func enter(_ phase: Phase, _ index: Int, at time: Duration) {
        guard rows[index].end == nil else { return }
        let last = rows[index].spans.count - 1
        rows[index].spans[last].end = time
        guard rows[index].spans[last].phase != phase else { return }
        rows[index].spans.append(Span(phase: phase, start: time, end: time))
    }

    mutating func end(_ index: Int, _ end: End, note: String, at time: Duration) {
        guard rows[index].end == nil else { return }
        rows[index].spans[rows[index].spans.count - 1].end = time
        rows[index].end = end
        rows[index].note = note
    }

    /// When the last of it was over.
    var duration: Duration { rows.lazy.compactMap { $0.spans.last?.end }.max() ?? .zero }
}
