import Testing

@testable import fetch

struct ProgressTests {
    private let plain = TerminalStyle(usesColour: false, usesUnicode: true)

    /// Two that receive, one of unknown length, one that waits for its answer, one that pauses.
    private func busyState() -> ProgressState {
        var state = ProgressState(total: 12)
        state.begin(0, name: "ended.zip")
        state.end(0, .fetched)
        state.begin(1, name: "broken.zip")
        state.end(1, .failed)
        state.begin(2, name: "archive-with-a-rather-long-name-2026-11-21.tar.gz")
        state.begin(3, name: "unknown")
        state.begin(4, name: "silent")
        state.begin(5, name: "flaky\u{1B}[31m")
        state.begin(6, name: "日本語のファイル.txt")
        for second in 0...4 {
            let time = Duration.seconds(second)
            state.receive(2, Int64(second) * 10_000_000, of: 160_000_000, at: time)
            state.receive(3, Int64(second) * 1_000, of: nil, at: time)
            state.receive(6, Int64(second) * 250, of: 1000, at: time)
        }
        state.pause(5, reason: "503 Service Unavailable", until: .seconds(7))
        return state
    }

    private func render(_ width: Int, height: Int = 24, style: TerminalStyle? = nil) -> [String] {
        ProgressLines(width: width, height: height, style: style ?? plain).render(busyState(), at: .seconds(4))
    }

    @Test("At 80 columns a line has name, bar, bytes, rate and time left")
    func eighty() {
        #expect(
            render(80) == [
                "archive-wit…26-11-21.tar.gz  ━━━━                 40.0 MB   10.0 MB/s   0:12",
                "unknown", "silent", "", "", "",
            ])
    }

    @Test("No line is wider than the terminal less a column, at any width", arguments: Array(1...220))
    func widths(width: Int) {
        for style in [plain, TerminalStyle(usesColour: false, usesUnicode: false)] {
            for line in render(width, style: style) { #expect(line.columnCount <= max(1, width - 1), "\(line)") }
        }
    }
}
