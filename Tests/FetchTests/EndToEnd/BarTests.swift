import Foundation
import LoopbackServer
import TestSupport
import Testing

/// The bars on a terminal.
@Suite(.watchdog(atOnce: .few))
struct BarTests: ProgramSuite {
    let fetch = FetchProgram(serving: ["/small.txt": .text("small")])
    let gate = Gate()

    init() {
        server.route("/half.bin", .pattern(2_000_000, heldAfter: 1_000_000, by: gate))
        server.route("/unknown.bin", .held(by: gate, then: .untilClose(Array("no length".utf8))))
    }

    private func start(
        _ arguments: [String], columns: Int, rows: Int = 24, environment: [String: String] = [:]
    ) throws -> (program: RunningProgram, terminal: PseudoTerminal) {
        let terminal = try PseudoTerminal(columns: columns, rows: rows)
        let unicode = ["TERM": "xterm", "LANG": "C.UTF-8"]
        let program = try fetch.start(
            arguments, errors: .terminal(terminal), environment: unicode.merging(environment) { $1 })
        return (program, terminal)
    }

    /// Waits until `isSatisfied` returns true for the lines on the screen, and returns them.
    private func screen(
        of program: RunningProgram, columns: Int, until isSatisfied: @escaping @Sendable ([String]) -> Bool
    ) async -> [String] {
        let shown = Shown()
        await program.wait { progress in
            shown.text = Screen(columns: columns, showing: progress.errors).text
            return isSatisfied(shown.text)
        }
        return shown.text
    }

    /// Sound as `@unchecked Sendable`: it is written before the wait for it ends, and read afterwards.
    private final class Shown: @unchecked Sendable {
        var text: [String] = []
    }

    @Test(
        "On a terminal each running download has a bar, below the lines of those that have ended, and the bars are removed at the end",
        arguments: [40, 80, 200])
    func bars(columns: Int) async throws {
        let urls = urls("/half.bin", "/unknown.bin", "/small.txt")
        let (program, _) = try start(urls, columns: columns)
        // With a space, as "1.0 MB/s" may be shown before.
        let bytes = columns == 40 ? "1.0M " : "1.0 MB "
        let busy = await screen(of: program, columns: columns) { text in
            text.contains { $0.hasPrefix("half.bin") && $0.contains(bytes) }
                && text.contains { $0.hasPrefix("small.txt: 5 B") }
                // The last line, so that all lines have been drawn.
                && text.last?.contains(columns == 40 ? "1/3" : "1 of 3 fetched") == true
        }
        try #require(busy.count == 4, "\(busy)")
        #expect(busy[0].hasPrefix("small.txt: 5 B in "))
        #expect(busy[1].contains("━"))
        #expect(busy[2].contains("waiting for an answer"))
        #expect(busy[3].hasPrefix(columns == 40 ? "1/3" : "1 of 3 fetched"))
        for line in busy { #expect(line.count < columns, "\(line)") }
        gate.open()
        let outcome = await program.outcome
        #expect(outcome.status == 0)
        let screen = Screen(columns: columns, showing: Data(outcome.errors.utf8))
        #expect(screen.unknown.isEmpty)
        #expect(!screen.text.joined().contains("━"), "\(screen.text)")
        #expect(screen.text.filter { $0.hasPrefix("half.bin: 2.0 MB") }.count == 1, "\(screen.text)")
        #expect(screen.text.joined().contains("3 of 3 fetched"))
    }

    @Test("More downloads than rows: as many bars as there is room for, and the number of the others")
    func many() async throws {
        for index in 0..<64 { server.route("/\(index)", .pattern(2000, heldAfter: 1000, by: gate)) }
        let (program, _) = try start(
            ["-j", "64"] + (0..<64).map { url("/\($0)") }, columns: 80, rows: 12)
        let busy = await screen(of: program, columns: 80) { text in
            text.contains("and 55 more") && !text.contains { $0.contains("waiting") }
                && text.last?.hasPrefix("0 of 64 fetched") == true
        }
        #expect(busy.count == 11, "\(busy)")
        gate.open()
        let outcome = await program.outcome
        #expect(outcome.status == 0)
        #expect(Screen(columns: 80, showing: Data(outcome.errors.utf8)).text.count == 65)
    }

    @Test("After the terminal has become narrower, the bars have its new width")
    func resized() async throws {
        let (program, terminal) = try start(urls("/half.bin", "/small.txt"), columns: 100)
        _ = await screen(of: program, columns: 100) {
            $0.contains { $0.hasPrefix("half.bin") && $0.contains("1.0 MB ") }
        }
        terminal.resize(columns: 40, rows: 24)
        await program.waitForErrors(containing: " 1.0M ")
        gate.open()
        let outcome = await program.outcome
        #expect(outcome.status == 0 && outcome.errors.contains(" 1.0M "))
    }

    @Test("With NO_COLOR there are bars without colour, without it bars with colour")
    func colour() async throws {
        let urls = urls("/half.bin", "/small.txt")
        let (plain, _) = try start(urls, columns: 80, environment: ["NO_COLOR": "1"])
        await plain.waitForErrors(containing: "━")
        gate.open()
        let withoutColour = await plain.outcome.errors
        #expect(withoutColour.contains("━") && !withoutColour.contains(/\u{1B}\[[0-9;]*m/))
        let again = Gate()
        server.route("/half.bin", .pattern(2_000_000, heldAfter: 1_000_000, by: again))
        let (painted, _) = try start(urls + ["--overwrite"], columns: 80)
        await painted.waitForErrors(containing: "\u{1B}[32m━")
        again.open()
        #expect(await painted.outcome.errors.contains("\u{1B}[32m━"))
    }

    @Test("A dumb terminal gets plain lines, and --quiet nothing", arguments: [true, false])
    func noBars(isQuiet: Bool) async throws {
        gate.open()
        let (program, _) = try start(
            [url("/half.bin")] + (isQuiet ? ["-q"] : []), columns: 80,
            environment: isQuiet ? [:] : ["TERM": "dumb"])
        let outcome = await program.outcome
        #expect(outcome.status == 0)
        #expect(!outcome.errors.contains("\u{1B}"))
        #expect(outcome.errorLines.count == (isQuiet ? 0 : 2))
    }
}

extension Screen {
    init(columns: Int, showing bytes: Data) {
        self.init(columns: columns)
        show(String(decoding: bytes, as: UTF8.self))
    }
}
