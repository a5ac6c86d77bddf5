/// When each download waited, asked, received and paused: the data of the waterfall. Times are measured
/// from the start.
struct Timeline: Sendable {
    enum Phase: String, CaseIterable, Sendable {
        /// In the queue.
        case waiting
        /// Connecting, and waiting for the first byte of the answer.
        case asking
        case receiving
        /// Between one attempt and the next.
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
        /// Without gaps; the first begins when the download entered the queue.
        fileprivate(set) var spans: [Span]
        fileprivate(set) var end: End?
        /// The outcome: an amount, or a reason.
        fileprivate(set) var note = ""
    }

    private(set) var rows: [Row] = []

    /// Adds a download that is in the queue from `time` on.
    mutating func add(name: String, url: String, at time: Duration = .zero) {
        rows.append(Row(name: name, url: url, spans: [Span(phase: .waiting, start: time, end: time)]))
    }

    /// Begins a phase of a download, unless that has ended.
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

    /// The end of the last phase of all.
    var duration: Duration { rows.lazy.compactMap { $0.spans.last?.end }.max() ?? .zero }
}
