import Testing

@testable import fetch

struct TerminalTests {
    @Test(
        "Live lines are drawn over the last ones, without clearing them first; a line that stays is above them"
    )
    func redraw() {
        var liveLines = LiveLines()
        #expect(liveLines.redraw(["one", "two"], columns: 80) == "one\u{1B}[K\ntwo\u{1B}[K\n")
        #expect(liveLines.redraw(["ONE"], columns: 80) == "\r\u{1B}[2AONE\u{1B}[K\n\u{1B}[J")
        let below = liveLines.redraw(["bar"], above: "done\n", columns: 80)
        #expect(below == "\r\u{1B}[1A\u{1B}[Jdone\nbar\u{1B}[K\n")
        #expect(liveLines.redraw([], columns: 80) == "\r\u{1B}[1A\u{1B}[J" && !liveLines.isShown)
        #expect(liveLines.redraw([], columns: 80) == "")
    }

    @Test(
        "Bars that a narrower terminal has wrapped are removed, also coloured ones",
        arguments: [7, 20, 40, 99, 100])
    func folded(columns: Int) {
        var liveLines = LiveLines()
        var screen = Screen(columns: 100)
        func show(_ lines: [String], above: String, columns: Int) {
            // A terminal's driver replaces a line feed by two characters.
            screen.show(liveLines.redraw(lines, above: above, columns: columns).replacing("\n", with: "\r\n"))
        }
        let coloured = "\u{1B}[32m\(String(repeating: "x", count: 99))\u{1B}[0m"
        show(["first bar", coloured, "overall"], above: "stays\n", columns: 100)
        #expect(screen.text.count == 4)
        screen.resize(columns: columns)
        show(["bar", "all"], above: "", columns: columns)
        #expect(screen.text == ["stays", "bar", "all"])
        show([], above: "end\n", columns: columns)
        #expect(screen.text == ["stays", "end"])
        #expect(screen.unknown.isEmpty)
    }

    @Test("A text that is too wide is cut in the middle, and wide characters count as two columns")
    func cutting() {
        for (text, columns, expected) in [
            ("abcdefghij", 10, "abcdefghij"), ("abcdefghij", 6, "abc…ij"), ("日本語日本語", 6, "日…語"),
            ("abc", 0, ""),
        ] {
            #expect(text.cut(to: columns, ellipsis: "…") == expected)
        }
        #expect("日本語".columnCount == 6 && "e\u{301}👩‍👩‍👧x".columnCount == 4)
        #expect("a\u{1B}[2Jb\u{9B}c".printable == "a?[2Jb?c")
    }

    @Test("What reverses text, hides in it or ends its line is not printed; joiners and marks are")
    func unsafe() {
        for text in [
            "\u{202A}\u{202B}\u{202C}\u{202D}\u{202E}", "\u{2066}\u{2067}\u{2068}\u{2069}",
            "\u{200E}\u{200F}\u{061C}", "\u{2028}\u{2029}\u{FEFF}\u{AD}\u{200B}\u{E0041}",
        ] {
            #expect(text.unicodeScalars.allSatisfy { String($0).printable == "?" }, "\(text.unicodeScalars)")
        }
        #expect("👩‍👩‍👧 می‌خواهم e\u{301}".printable == "👩‍👩‍👧 می‌خواهم e\u{301}")
        #expect(Report(url: "a\u{202E}\u{E0041}b", end: .fetched).json.contains("a\\u202e\\udb40\\udc41b\""))
    }

    @Test("Colour and bars need a terminal, and depend on the environment")
    func environment() {
        let nowhere = OutputDescriptor(descriptor: -1, name: "nowhere")
        #expect(!Terminal(nowhere, environment: ["TERM": "xterm"]).canDraw)
        #expect(Terminal(nowhere, environment: ["LANG": "de_DE.UTF-8"]).style.usesUnicode)
        #expect(!Terminal(nowhere, environment: ["LC_ALL": "C", "LANG": "de_DE.UTF-8"]).style.usesUnicode)
    }
}
