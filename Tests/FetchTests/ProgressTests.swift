import Testing

@testable import fetch

struct ProgressTests {
    private let plain = TerminalStyle(usesColour: false, usesUnicode: true)
    private let ascii = TerminalStyle(usesColour: false, usesUnicode: false)

    /// Three downloads that receive, one of them of unknown length, one that waits for an answer, one that
    /// pauses, and two that have ended.
    private func busyState() -> ProgressState {
        var state = ProgressState(total: 12)
        for (index, end) in [Timeline.End.fetched, .failed].enumerated() {
            state.begin(index, name: "ended")
            state.end(index, end)
        }
        let names = [
            "archive-with-a-rather-long-name-2026-11-21.tar.gz", "unknown", "silent", "flaky\u{1B}[31m",
            "日本語のファイル.txt",
        ]
        for (index, name) in names.enumerated() { state.begin(index + 2, name: name) }
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
        ProgressLines(width: width, height: height, style: style ?? plain).render(
            busyState(), at: .seconds(4))
    }

    @Test(
        "A line has name, bar, bytes, rate and time left, shorter at 40 columns; the last line has the totals"
    )
    func columns() {
        #expect(
            render(80) == [
                "archive-wit…1-21.tar.gz  ━━━━━━                      40.0 MB   10.0 MB/s   0:12",
                "unknown                      ━━━                      4.0 kB    1.0 kB/s       ",
                "silent                   waiting for an answer",
                "flaky?[31m               again in 3 s: 503 Service Unavailable",
                "日本語のファイル.txt     ━━━━━━━━━━━━━━━━━━━━━━━━━    1.0 kB     250 B/s   0:00",
                "1 of 12 fetched; 1 failed  ━━━╸                      40.0 MB   10.0 MB/s       ",
            ])
        #expect(
            render(40) == [
                "arch…r.gz ━━        40.0M 10.0M/s  0:12",
                "unknown       ━━━    4.0k  1.0k/s      ",
                "silent    waiting for an answer",
                "flak…[31m again in 3 s: …ce Unavailable",
                "日本….txt ━━━━━━━━━  1.0k   250/s  0:00",
                "1/12 1 failed ╸     40.0M 10.0M/s      ",
            ])
    }

    @Test("At 200 columns every line of amounts ends in the same column, and no name is cut")
    func twoHundred() {
        let lines = render(200)
        #expect(lines[0].hasPrefix("archive-with-a-rather-long-name-2026-11-21.tar.gz "))
        for index in [0, 1, 4, 5] { #expect(lines[index].columnCount == 199) }
    }

    @Test("Without Unicode a line is ASCII, and colour adds only escape sequences")
    func styles() {
        for line in render(80, style: ascii) where !line.contains("txt") {
            #expect(!line.contains { !$0.isASCII }, "\(line)")
        }
        let coloured = render(80, style: TerminalStyle(usesColour: true, usesUnicode: true))
        #expect(coloured[0].contains("\u{1B}[32m━"))
        #expect(coloured.map { $0.withoutColours.replacing("─", with: " ") } == render(80))
    }

    @Test("No line is wider than the terminal less a column, at any width")
    func widths() {
        for width in 1...220 {
            for style in [plain, ascii] {
                for line in render(width, style: style) {
                    #expect(line.columnCount <= max(1, width - 1), "\(width) columns: \(line)")
                }
            }
        }
    }

    @Test("With less room than downloads the others are counted, and the height is kept")
    func heights() {
        #expect(render(40, height: 4)[2] == "and 3 more")
        for height in 0...8 { #expect(render(40, height: height).count == min(height, 6)) }
    }

    @Test("A new attempt of a download counts from 0, and the total keeps the bytes of the one before")
    func again() {
        var state = ProgressState(total: 1)
        state.begin(0, name: "a")
        state.receive(0, 600, of: 1000, at: .seconds(1))
        state.pause(0, reason: "reset", until: .seconds(3))
        state.ask(0)
        #expect(state.running[0].phase == .asking)
        state.receive(0, 100, of: 1000, at: .seconds(3))
        #expect(state.running[0].received == 100)
        #expect(state.received == 700)
    }

    @Test("While its checksum is computed, a download has no bar, and no time left")
    func checking() {
        var state = ProgressState(total: 1)
        state.begin(0, name: "a.iso")
        state.receive(0, 1000, of: 1000, at: .seconds(1))
        state.check(0)
        let lines = ProgressLines(width: 80, height: 24, style: plain).render(state, at: .seconds(2))
        #expect(lines.first?.hasSuffix("  checking the checksum") == true, "\(lines)")
        // A mirror that is tried after a wrong checksum.
        state.receive(0, 10, of: 1000, at: .seconds(3))
        #expect(state.running.first?.phase == .receiving)
    }

    @Test("A rate is measured over the last seconds")
    func rate() throws {
        var meter = RateMeter()
        #expect(meter.rate(at: .zero) == nil)
        for tenth in 0...100 { meter.record(Int64(tenth) * 100, at: .milliseconds(tenth * 100)) }
        #expect(try abs(#require(meter.rate(at: .seconds(10))) - 1000) < 1)
        // Then nothing more is received: the rate falls to 0.
        #expect(try #require(meter.rate(at: .seconds(12))) < 700)
        #expect(try #require(meter.rate(at: .seconds(60))) < 10)
    }

    @Test("Amounts fit their columns")
    func amounts() {
        let counts: [Int64] = [0, 1, 999, 1000, 1049, 9_949, 99_949, 99_950, 999_499, 999_500, 1 << 40, .max]
        #expect(
            counts.map(Amount.bytes) == [
                "0 B", "1 B", "999 B", "1.0 kB", "1.0 kB", "9.9 kB", "99.9 kB", "100 kB", "999 kB", "1.0 MB",
                "1.1 TB", "9.2 EB",
            ])
        #expect(!counts.map(Amount.shortBytes).contains { $0.count > 5 })
        #expect(
            [0, 0.4, 59, 60, 3599, 3600, 86399, 86400, 1e9].map(Amount.timeLeft) == [
                "0:00", "0:01", "0:59", "1:00", "59:59", "1h00", "23h59", "1d00", "-",
            ])
        #expect(
            [0.0123, 0.5, 2.04, 61, 125].map { Amount.span(.seconds($0)) } == [
                "0.012 s", "0.5 s", "2 s", "61 s", "2 min 5 s",
            ])
    }
}
