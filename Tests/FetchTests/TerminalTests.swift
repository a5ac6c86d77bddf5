import Testing

@testable import fetch

struct TerminalTests {
    @Test("Live lines are drawn over the last ones, without clearing them first")
    func redraw() {
        var liveLines = LiveLines()
        #expect(liveLines.redraw(["one", "two"], columns: 80) == "one\u{1B}[K\ntwo\u{1B}[K\n")
        #expect(liveLines.redraw(["ONE"], columns: 80) == "\r\u{1B}[2AONE\u{1B}[K\n\u{1B}[J")
        #expect(liveLines.redraw([], columns: 80) == "\r\u{1B}[1A\u{1B}[J")
        #expect(!liveLines.isShown)
        #expect(liveLines.redraw([], columns: 80) == "")
    }

    @Test("A line that stays is written above the live lines")
    func above() {
        var liveLines = LiveLines()
        _ = liveLines.redraw(["bar"], columns: 80)
        #expect(
            liveLines.redraw(["bar"], above: "done\n", columns: 80)
                == "\r\u{1B}[1A\u{1B}[Jdone\nbar\u{1B}[K\n")
    }

    @Test("Bars that a narrower terminal has wrapped are removed", arguments: [7, 20, 40, 99, 100])
    func folded(columns: Int) {
        var liveLines = LiveLines()
        var screen = Screen(columns: 100)
        func show(_ lines: [String], above: String, columns: Int) {
            // A terminal's driver replaces a line feed by two characters.
            screen.show(liveLines.redraw(lines, above: above, columns: columns).replacing("\n", with: "\r\n"))
        }
        show(["first bar", String(repeating: "x", count: 99), "overall"], above: "stays\n", columns: 100)
        #expect(screen.text.count == 4)
        screen.resize(columns: columns)
        show(["bar", "all"], above: "", columns: columns)
        #expect(screen.text == ["stays", "bar", "all"])
        show([], above: "end\n", columns: columns)
        #expect(screen.text == ["stays", "end"])
        #expect(screen.unknown.isEmpty)
    }

    @Test("Lines that a narrower terminal has wrapped are counted with all their rows")
    func resized() {
        var liveLines = LiveLines()
        _ = liveLines.redraw(
            [
                String(repeating: "x", count: 79), "\u{1B}[32m\(String(repeating: "y", count: 41))\u{1B}[0m",
                "",
            ], columns: 80)
        #expect(liveLines.redraw([], columns: 40) == "\r\u{1B}[5A\u{1B}[J")
    }

    @Test("A text that is too wide is cut in the middle, and wide characters count as two columns")
    func cutting() {
        #expect("abcdefghij".cut(to: 10, ellipsis: "…") == "abcdefghij")
        #expect("abcdefghij".cut(to: 6, ellipsis: "…") == "abc…ij")
        #expect("日本語日本語".cut(to: 6, ellipsis: "…") == "日…語")
        #expect("日本語".columnCount == 6)
        #expect("e\u{301}👩‍👩‍👧x".columnCount == 4)
        #expect("abc".cut(to: 0, ellipsis: "…") == "")
        #expect("a\u{1B}[2Jb\u{9B}c".printable == "a?[2Jb?c")
    }

    @Test("Colour and bars need a terminal, and depend on the environment")
    func environment() {
        let nowhere = OutputDescriptor(descriptor: -1, name: "nowhere")
        #expect(!Terminal(nowhere, environment: ["TERM": "xterm"]).canDraw)
        #expect(Terminal(nowhere, environment: ["LANG": "de_DE.UTF-8"]).style.usesUnicode)
        #expect(!Terminal(nowhere, environment: ["LC_ALL": "C", "LANG": "de_DE.UTF-8"]).style.usesUnicode)
    }
}
