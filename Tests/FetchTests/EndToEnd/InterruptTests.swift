import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Ctrl-C, pipes that are closed, and disks that are full.
@Suite(.watchdog(atOnce: .few))
struct InterruptTests: ProgramSuite {
    let fetch = FetchProgram(serving: [
        "/stalls": .stalled(after: 100_000, of: 200_000), "/silent": .stalled,
        "/a.txt": .text("first\n"), "/big.bin": .pattern(3_000_000),
    ])

    @Test(
        "The first signal cancels everything: no half file is left, every URL is reported, and the exit status is 128 plus the signal's number",
        arguments: [(SIGINT, Int32(130)), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)])
    func interrupt(signal: Int32, status: Int32) async throws {
        let urls = ["/stalls", "/silent", "/a.txt"].map { server.url($0) }
        let program = try fetch.start(["--json", "-j", "2"] + urls)
        await server.waitForRequests(underWay: 2)
        program.send(signal)
        let outcome = await program.outcome
        #expect(!outcome.wasKilled)
        #expect(outcome.status == status)
        #expect(fetch.files().isEmpty)
        for url in urls { #expect(outcome.objects[url]?.error == "cancelled: interrupted") }
        #expect(outcome.errors.hasPrefix("interrupted: 0 of 3 fetched"), "\(outcome.errors)")
        await server.waitUntilDisconnected()
    }

    @Test("A run that is interrupted writes its trace, with the cancellations")
    func interruptTrace() async throws {
        let program = try fetch.start(["--trace", "t.json", server.url("/stalls")])
        await server.waitForRequests(underWay: 1)
        program.send(SIGINT)
        #expect(await program.outcome.status == 130)
        let trace = try JSONSerialization.jsonObject(with: Data(fetch.contents("t.json") ?? []))
        #expect("\(trace)".contains("cancelled"))
        #expect(fetch.files() == ["t.json"])
    }

    @Test("A signal during the pause before the next attempt ends the program at once")
    func interruptPause() async throws {
        server.route("/busy", .unavailable(retryAfter: "300"))
        let program = try fetch.start(["--retry", "100", server.url("/busy")])
        await program.waitForErrors(containing: "again in 5 min")
        program.send(SIGINT)
        let outcome = await program.outcome
        #expect(outcome.status == 130, "\(outcome.errors)")
        // One request for each pause that has begun, however late this test sends its signal.
        #expect(server.requests.count == outcome.errors.components(separatedBy: "again in").count - 1)
    }

    @Test("Under --continue the part file stays after Ctrl-C, and the next run resumes it")
    func interruptAndContinue() async throws {
        server.route(
            "/r", .stalled(after: 50_000, of: 100_000, headers: [("ETag", "\"v\"")]),
            .resource(100_000, etag: "\"v\""))
        let terminal = try PseudoTerminal(columns: 80, rows: 24)
        let program = try fetch.start(
            ["--continue", server.url("/r")], errors: .terminal(terminal), environment: ["TERM": "xterm"])
        await program.waitForErrors(containing: "50.0 kB")
        program.send(SIGINT)
        #expect(await program.outcome.status == 130)
        #expect(fetch.files().contains("r.part"))
        try await fetch.run("--continue", server.url("/r"), status: 0)
        #expect(server.requests.last?[header: "Range"] == "bytes=50000-")
        #expect(fetch.files() == ["r"])
        #expect(Pattern.matches(try #require(fetch.contents("r")), at: 0))
    }

    /// The output for these fills a pipe that is not read.
    private let noise = (0..<3000).map { "nonsense-\($0)-that-is-no-URL-at-all" }.joined(separator: "\n")

    @Test(
        "Ctrl-C ends the program also while nobody reads its output",
        arguments: [
            (["-o", "-"], "/big.bin"), (["-o", "pipe"], "/big.bin"), (["--waterfall", "pipe"], "/stalls"),
            (["--json"], ""), ([], ""), (["--waterfall", "pipe"], "/a.txt"),
        ])
    func unread(_ options: [String], _ path: String) async throws {
        try fetch.makePipe("pipe")
        let program = try fetch.start(
            options + ["--input", "-"], input: path.isEmpty ? noise + "\n" + url("/stalls") : url(path),
            output: options.isEmpty ? .kept : .unreadPipe, errors: options.isEmpty ? .unreadPipe : .kept)
        await server.waitForRequests(seen: 1)
        if path == "/big.bin" { await server.waitUntilIdle() }
        let names = path == "/a.txt" ? ["a.txt", "pipe"] : ["pipe"]
        if path == "/a.txt" { await program.waitForErrors(containing: "a.txt: ") }
        program.send(SIGINT)
        let outcome = await program.outcome
        #expect(outcome.status == 130 && !outcome.wasKilled && fetch.files() == names, "\(outcome.errors)")
    }

    @Test("A second Ctrl-C kills the program if the first one could not end it")
    func second() async throws {
        // As long as it waits for a reader, it cannot end. `/stalls` is begun when all of the output is waiting to be
        // written.
        let program = try fetch.start(
            ["--input", "-"], input: noise + "\n" + server.url("/stalls"), errors: .unreadPipe,
            environment: ["FETCH_REPEAT_SECONDS": "3600"])
        await server.waitForRequests(underWay: 1)
        program.send(SIGINT)
        await server.waitUntilDisconnected()
        // Another signal, because the same one could come too early to be a second one.
        program.send(SIGTERM)
        let outcome = await program.outcome
        #expect(outcome.wasKilled)
        #expect(outcome.status == SIGTERM)
        #expect(fetch.files().isEmpty)
    }

    @Test("A signal that comes twice at once, as timeout(1) sends it, leaves no part file", arguments: 0..<5)
    func twice(_ round: Int) async throws {
        server.route("/half-\(round)", .stalled(after: 50_000, of: 100_000))
        let program = try fetch.start(
            [server.url("/half-\(round)"), server.url("/silent")],
            environment: ["FETCH_REPEAT_SECONDS": "3600"])
        await server.waitForRequests(seen: 2)
        // Some of them come while the program is still dealing with the first.
        for _ in 0..<200 { program.send(SIGINT) }
        let outcome = await program.outcome
        #expect(outcome.status == 130 && !outcome.wasKilled)
        #expect(fetch.files().isEmpty)
    }

    @Test("Standard output without a reader ends '-o -' and --json with one line and exit status 1")
    func closedOutput() async throws {
        let body = try await fetch.start(["-o", "-", server.url("/big.bin")], output: .closedPipe).outcome
        #expect(body.status == 1)
        #expect(
            body.errorLines.first
                == "fetch: \(server.url("/big.bin")): standard output was closed by its reader")
        let json = try await fetch.start(
            ["--json", "-j", "1", server.url("/a.txt"), server.url("/silent")], output: .closedPipe
        ).outcome
        #expect(json.status == 1)
        #expect(json.errors.contains("fetch: standard output was closed by its reader\n"), "\(json.errors)")
        #expect(fetch.files() == ["a.txt"])
    }

    @Test("'-o -' stops as soon as standard output has no reader, not at the end of the download")
    func closedOutputBeforeTheEnd() async throws {
        let gate = Gate()
        server.route("/held", .pattern(3_000_000, heldAfter: 1000, by: gate))
        let url = server.url("/held")
        for arguments in [[url], ["--first", url, server.url("/silent")]] {
            let outcome = try await fetch.start(["-o", "-"] + arguments, output: .closedPipe).outcome
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("fetch: \(url): standard output was closed by its reader\n"))
        }
        gate.open()
    }

    @Test("Standard streams that are closed from the start are named, and nothing hangs")
    func closedFromTheStart() async throws {
        let url = server.url("/a.txt")
        try await fetch.run(
            ["-o", "-", url], preparation: "exec >&-", status: 1,
            saying: "fetch: \(url): standard output is closed\n")
        try await fetch.run(
            ["--json", url], preparation: "exec >&-", status: 1, saying: "fetch: standard output is closed\n")
        let input = try await fetch.run(["--input", "-"], preparation: "exec <&-", status: 2)
        #expect(
            input.errors.hasPrefix("fetch: cannot read '-' for --input: standard input is closed;"),
            "\(input.errors)")
        try await fetch.run(["-o", "b", url], preparation: "exec <&- >&- 2>&-", status: 0)
        #expect(fetch.text("b") == "first\n")
    }

    @Test(
        "A signal ends '--input -' that waits",
        arguments: [(SIGINT, Int32(130)), (SIGTERM, 143)] as [(Int32, Int32)])
    func interruptedInput(signal: Int32, status: Int32) async throws {
        // More than the capacity of a pipe: once all of it is written, the program is reading.
        let input = String(repeating: "# a comment\n", count: 200_000)
        let program = try fetch.start(["--input", "-"], input: input, keepsInputOpen: true)
        await program.wait { $0.isFed }
        program.send(signal)
        let outcome = await program.outcome
        #expect(outcome.status == status && !outcome.wasKilled)
        #expect(outcome.errors == "fetch: interrupted before anything was fetched\n")
    }

    @Test("Standard error without a reader does not stop the downloads")
    func closedErrors() async throws {
        let outcome = try await fetch.start(
            [server.url("/a.txt"), server.url("/big.bin")], errors: .closedPipe
        ).outcome
        #expect(outcome.status == 0)
        #expect(fetch.files() == ["a.txt", "big.bin"])
    }

    // A sanitizer's runtime does not start under such a limit.
    @Test(
        "When the disk is full, the file fails by its name, nothing of it is left, and the others are fetched",
        .disabled(if: Extent.isSanitized))
    func noRoom() async throws {
        // A limit on the size of files simulates a full disk.
        let outcome = try await fetch.run(
            [server.url("/big.bin"), server.url("/a.txt")], preparation: "trap '' XFSZ && ulimit -f 1000",
            status: 1, saying: "fetch: \(server.url("/big.bin")): ")
        #expect(outcome.errors.contains("File too large"), "\(outcome.errors)")
        #expect(fetch.files() == ["a.txt"])
    }

    @Test("A folder that cannot be created, or written to, is named")
    func unwritable() async throws {
        try fetch.write("a file", to: "taken")
        let outcome = try await fetch.run(
            "-d", "taken/sub", server.url("/a.txt"), server.url("/big.bin"), status: 1)
        for path in ["/a.txt", "/big.bin"] {
            #expect(
                outcome.errorLines.contains {
                    $0.hasPrefix("fetch: \(server.url(path)): ") && $0.contains("taken/sub")
                })
        }
        #expect(fetch.files() == ["taken"])
        guard geteuid() != 0 else { return }
        let folder = fetch.folder.appendingPathComponent("sealed").path
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o555])
        try await fetch.run("-d", "sealed", server.url("/a.txt"), status: 1, saying: "Permission denied")
    }
}
