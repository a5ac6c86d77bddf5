import Foundation
import LoopbackServer
import Testing

/// The program as users run it: URLs in, files and an exit status out.
@Suite(.timeLimit(.minutes(5)))
struct FetchingTests {
    let server: LoopbackServer
    let fetch: FetchProgram

    init() throws {
        server = try LoopbackServer()
        fetch = try FetchProgram()
        server.route("/a.txt", .text("first\n"))
        server.route("/sub/a.txt", .text("second\n"))
        server.route("/big.bin", .pattern(3_000_000))
    }

    @Test("Several URLs are fetched, each to a file named by its path, no two to the same")
    func several() async throws {
        let outcome = try await fetch.run(
            server.url("/a.txt"), server.url("/big.bin?x=1"), server.url("/sub/a.txt"), status: 0)
        #expect(outcome.output.isEmpty)
        #expect(fetch.files() == ["a.txt", "a.txt.1", "big.bin"])
        #expect(fetch.text("a.txt") == "first\n")
        #expect(fetch.text("a.txt.1") == "second\n")
        let big = try #require(fetch.contents("big.bin"))
        #expect(big.count == 3_000_000)
        #expect(Pattern.matches(big, at: 0))
        #expect(outcome.errorLines.count == 4)
        #expect(outcome.errorLines.last?.hasPrefix("3 of 3 fetched, 3.0 MB in ") == true, "\(outcome.errors)")
    }

    @Test("Each failure is one line that names URL and reason, and the others are fetched")
    func failures() async throws {
        server.route("/down", .status(500))
        server.route("/reset", .reset)
        server.route("/short", .truncated(after: 10, of: 20))
        server.route("/loop", .redirect(to: "/loop"))
        try FileManager.default.createDirectory(
            at: fetch.folder.appendingPathComponent("down"), withIntermediateDirectories: false)
        let refused = "http://127.0.0.1:1/x"
        // Too long for a host name, so that no name server is asked.
        let nowhere = "http://\(String(repeating: "x", count: 64)).invalid/"
        let paths = ["/none", "/reset", "/short", "/loop", "/down"].map { server.url($0) }
        let others = [refused, nowhere, "ftp://h/a", "nonsense", "http://[::1"]
        let outcome = try await fetch.run(paths + others + [server.url("/a.txt"), "-j", "2"], status: 1)
        #expect(fetch.files() == ["a.txt", "down"])
        #expect(fetch.files("down").isEmpty)
        for (url, reason) in [
            (server.url("/none"), "404 Not Found"), (server.url("/reset"), "connection lost"),
            (server.url("/short"), "truncated: 10 of 20 bytes"),
            (server.url("/loop"), "redirected more than"),
            (server.url("/down"), "it is a directory"), (refused, "cannot connect"),
            (nowhere, "cannot connect"),
            ("ftp://h/a", "only http and https"), ("nonsense", "not a URL"), ("http://[::1", "not a URL"),
        ] {
            let lines = outcome.errorLines.filter { $0.hasPrefix("fetch: \(url): ") }
            #expect(lines.count == 1, "\(url): \(outcome.errors)")
            #expect(lines.first?.contains(reason) == true, "\(lines)")
        }
        #expect(outcome.errorLines.last?.hasSuffix("; 10 failed") == true)
    }

    @Test("-o names the file, in the folder of -d, and '-o -' writes to standard output alone")
    func output() async throws {
        try await fetch.run("-o", "b.txt", server.url("/a.txt"), status: 0)
        try await fetch.run("-d", "new/dir", "-o", "c.txt", server.url("/a.txt"), status: 0)
        let outcome = try await fetch.run("-o", "-", server.url("/big.bin"), status: 0)
        #expect(outcome.output.count == 3_000_000)
        #expect(Pattern.matches(outcome.output, at: 0))
        #expect(fetch.files() == ["b.txt", "new"])
        #expect(fetch.files("new/dir") == ["c.txt"])
        let failed = try await fetch.run("-o", "-", server.url("/none"), "--quiet", status: 1)
        #expect(failed.output.isEmpty)
        #expect(failed.errors == "fetch: \(server.url("/none")): 404 Not Found\n")
    }

    @Test("A file that exists stays, except under --overwrite; --skip-existing counts it as done")
    func existing() async throws {
        try fetch.write("mine", to: "a.txt")
        try await fetch.run(
            server.url("/a.txt"), status: 1,
            saying: "'a.txt' exists; choose --overwrite, --skip-existing or --continue")
        let skipped = try await fetch.run("--skip-existing", "--json", server.url("/a.txt"), status: 0)
        #expect(skipped.objects[server.url("/a.txt")]?["attempts"] as? Int == 0)
        #expect(server.requests.isEmpty)
        #expect(fetch.text("a.txt") == "mine")
        try await fetch.run("--overwrite", server.url("/none"), "-o", "a.txt", status: 1)
        #expect(fetch.text("a.txt") == "mine")
        try await fetch.run("--overwrite", server.url("/a.txt"), status: 0)
        #expect(fetch.text("a.txt") == "first\n")
        #expect(fetch.files() == ["a.txt"])
    }

    @Test("-j N is N at once, to one host too, and never more", arguments: [1, 3, 16])
    func jobs(count: Int) async throws {
        let gate = Gate()
        for index in 0..<20 { server.route("/\(index)", .held(by: gate, then: .text("x"))) }
        let program = try fetch.start(["-j", "\(count)"] + (0..<20).map { server.url("/\($0)") })
        await server.waitForRequests(underWay: count)
        gate.open()
        #expect(await program.outcome.status == 0)
        #expect(server.mostRequestsUnderWay == count)
        #expect(fetch.files().count == 20)
    }

    @Test("A silent server fails after --timeout, a slow one after --max-time, and no file is left")
    func timeouts() async throws {
        server.route("/silent", .stalled)
        server.route("/stalls", .stalled(after: 1000, of: 2000))
        server.route("/slow", .drip(1000, atOnce: 1, everyMilliseconds: 20))
        let silent = try await fetch.run(
            "--timeout", "0.3", server.url("/silent"), server.url("/stalls"), status: 1)
        #expect(
            silent.errorLines.filter { $0.contains("nothing heard for 0.3 s") }.count == 2, "\(silent.errors)"
        )
        try await fetch.run(
            "--max-time", "0.5", server.url("/slow"), status: 1,
            saying: "fetch: \(server.url("/slow")): not done after 0.5 s (--max-time)")
        #expect(fetch.files().isEmpty)
    }

    @Test("--limit-rate limits all transfers together")
    func limitRate() async throws {
        // 12 s in all. Each body arrives in one piece; the large one delays both transfers for 11 s.
        let sizes = ["large": 11_000, "small": 1000]
        for (name, size) in sizes { server.route("/\(name)", .pattern(size)) }
        let outcome = try await fetch.run(
            "--limit-rate", "1k", "-d", "d", "--json", server.url("/large"), server.url("/small"), status: 0)
        let seconds = outcome.objects.values.compactMap { $0["seconds"] as? Double }
        // A lower bound only: a busy machine may take any time.
        #expect(try #require(seconds.max()) >= 11.99, "\(seconds)")
        for (name, size) in sizes {
            #expect(
                fetch.contents("d/\(name)").map { $0.count == size && Pattern.matches($0, at: 0) } == true)
        }
        let slow = try fetch.start(["--limit-rate", "1k", server.url("/big.bin")])
        await server.waitForRequests(seen: 3)
        slow.send(SIGINT)
        #expect(await slow.outcome.status == 130)
        #expect(fetch.files() == ["d"])
    }

    @Test("--retry repeats after transient errors, and says so, and not after others")
    func retry() async throws {
        server.route("/flaky", .status(503), .truncated(after: 5, of: 10), .text("whole"))
        server.route("/broken", .status(500))
        let outcome = try await fetch.run(
            "--retry", "2", "--json", server.url("/flaky"), server.url("/none"), server.url("/broken"),
            status: 1)
        #expect(fetch.files() == ["flaky"])
        #expect(fetch.text("flaky") == "whole")
        #expect(outcome.objects[server.url("/flaky")]?["attempts"] as? Int == 3)
        #expect(outcome.objects[server.url("/none")]?["attempts"] as? Int == 1)
        #expect(outcome.objects[server.url("/broken")]?["attempts"] as? Int == 3)
        #expect(outcome.objects[server.url("/broken")]?["status"] as? Int == 500)
        #expect(
            outcome.objects[server.url("/broken")]?["error"] as? String
                == "500 Internal Server Error (3 tries)")
        #expect(
            outcome.errors.contains("\(server.url("/flaky")): 503 Service Unavailable; again in "),
            "\(outcome.errors)")
    }

    @Test("The headers of -H are sent")
    func headers() async throws {
        server.route("/e", .echo)
        let outcome = try await fetch.run(
            "-H", "X-One: 1: 2", "-H", "Accept: text/x", "-o", "-", server.url("/e"))
        #expect(outcome.text.contains("\r\nX-One: 1: 2\r\n"))
        #expect(outcome.text.contains("\r\nAccept: text/x\r\n"))
    }

    @Test("--input reads URLs from a file or standard input, after those of the command line")
    func input() async throws {
        try fetch.write("# two\n\n\(server.url("/a.txt"))\r\n  \(server.url("/sub/a.txt"))", to: "list")
        try await fetch.run("--input", "list", "-d", "x", status: 0)
        #expect(fetch.files("x") == ["a.txt", "a.txt.1"])
        try await fetch.run(
            "--input", "-", "-d", "y", server.url("/sub/a.txt"), input: "\(server.url("/a.txt"))\n", status: 0
        )
        #expect(fetch.text("y/a.txt") == "second\n")
        #expect(fetch.text("y/a.txt.1") == "first\n")
        try await fetch.run("--input", "-", input: "# none\n", status: 0)
    }

    @Test("--input reads a named pipe and a device")
    func inputFromPipe() async throws {
        try #require(mkfifo(fetch.folder.appendingPathComponent("pipe").path, 0o600) == 0)
        try await fetch.run(
            ["--input", "pipe", "-d", "x"], preparation: "{ echo \(server.url("/a.txt")) > pipe & }",
            status: 0)
        #expect(fetch.text("x/a.txt") == "first\n")
        try await fetch.run("--input", "/dev/null", status: 0)
    }

    @Test("--json: a body that breaks off has the status of its answer")
    func truncatedStatus() async throws {
        server.route("/short", .truncated(after: 4_000_000, of: 8_000_000))
        server.route("/resumed", .resource(100_000, etag: "\"1\"", breakingOffAfter: 30_000))
        let outcome = try await fetch.run(
            "--json", "--continue", "--retry", "1", server.url("/short"), server.url("/resumed"), status: 1)
        #expect(outcome.objects[server.url("/short")]?["status"] as? Int == 200)
        #expect(outcome.objects[server.url("/resumed")]?["status"] as? Int == 206)
    }

    @Test("--fail-fast stops at the first failure, and each URL is accounted for")
    func failFast() async throws {
        let gate = Gate()
        server.route("/held", .stalled(after: 50_000, of: 100_000))
        server.route("/fails", .held(by: gate, then: .status(404)))
        let urls = ["/held", "/fails", "/a.txt"].map { server.url($0) }
        let program = try fetch.start(["--fail-fast", "--json", "-j", "2"] + urls)
        // Both places are taken, so that the third cannot begin before one of the two fails.
        await server.waitForRequests(underWay: 2)
        gate.open()
        let outcome = await program.outcome
        #expect(outcome.status == 1)
        #expect(outcome.objects.count == 3)
        #expect(outcome.objects[urls[0]]?["error"] as? String == "cancelled: another URL failed")
        #expect(outcome.objects[urls[1]]?["error"] as? String == "404 Not Found")
        #expect(outcome.objects[urls[2]]?["error"] as? String == "cancelled: another URL failed")
        #expect(server.requests.count == 2)
        #expect(fetch.files().isEmpty)
    }

    @Test("--first keeps the file of the first mirror that is whole, cancels the others, and leaves one file")
    func first() async throws {
        server.route("/slow/f", .stalled(after: 1000, of: 2000))
        let gate = Gate()
        server.route("/good/f", .held(by: gate, then: .pattern(500_000)))
        let urls = ["/none/f", "/slow/f", "/good/f"].map { server.url($0) }
        let program = try fetch.start(["--first", "--json"] + urls)
        // One has failed and the other two are running before the gate opens for one of them.
        await program.wait { String(decoding: $0.output, as: UTF8.self).contains("404 Not Found") }
        await server.waitForRequests(underWay: 2)
        gate.open()
        let outcome = await program.outcome
        #expect(outcome.status == 0)
        #expect(fetch.files() == ["f"])
        #expect(fetch.contents("f")?.count == 500_000)
        #expect(outcome.objects[urls[0]]?["error"] as? String == "404 Not Found")
        #expect(outcome.objects[urls[1]]?["error"] as? String == "cancelled: another mirror was first")
        #expect(outcome.objects[urls[2]]?["file"] as? String == "f")

        let failed = try await fetch.run(
            "--first", "-o", "g", server.url("/none"), server.url("/none/f"), status: 1)
        #expect(failed.errorLines.filter { $0.hasSuffix(": 404 Not Found") }.count == 2)
        try await fetch.run(["--first"] + urls, status: 1, saying: "'f' exists")
        #expect(fetch.files() == ["f"])
    }

    @Test("--json prints an object for each URL, and --quiet shows only errors")
    func json() async throws {
        let outcome = try await fetch.run(
            "--json", "--quiet", "-d", "d", server.url("/a.txt"), server.url("/none"), "bad", status: 1)
        #expect(outcome.text.split(separator: "\n").count == 3)
        let fetched = try #require(outcome.objects[server.url("/a.txt")])
        #expect(fetched["status"] as? Int == 200)
        #expect(fetched["bytes"] as? Int == 6)
        #expect(fetched["file"] as? String == "d/a.txt")
        #expect(fetched["error"] == nil)
        #expect(fetched["seconds"] as? Double ?? -1 >= 0)
        #expect(outcome.objects["bad"]?["attempts"] as? Int == 0)
        #expect(outcome.errorLines.count == 2)
    }

    @Test(
        "A picture or a trace is written, also of failures; to fail to write it is a failure",
        arguments: [("--waterfall", "<svg "), ("--trace", #"{"displayTimeUnit""#)])
    func sideFiles(option: String, beginning: String) async throws {
        try await fetch.run(option, "side", server.url("/a.txt"), server.url("/none"), status: 1)
        let text = try #require(fetch.text("side"))
        #expect(text.hasPrefix(beginning) && text.contains("404"), "\(text.prefix(100))")
        // Linux cuts the names of Dispatch's threads ("oot.default-qos"); those in the trace are readable.
        #expect(!text.contains("\"oot."))
        try await fetch.run(
            option, "no/side", "-d", "x", server.url("/a.txt"), status: 1,
            saying: "fetch: no/side: no such file or directory")
    }

    @Test("Invalid usage is named, exits with 2, and nothing is fetched")
    func usage() async throws {
        for arguments in [
            ["--jsn"], ["-j", "x"], ["-H", "x"], ["--input", "nowhere"], ["--json", "-o", "-"],
            ["-o", "x", "y"], ["--input", "."],
        ] {
            let outcome = try await fetch.run(arguments + [server.url("/a.txt")])
            #expect(outcome.status == 2, "\(arguments)")
            #expect(outcome.errorLines.count == 1)
            #expect(outcome.errors.hasPrefix("fetch: "))
        }
        try await fetch.run(status: 2)
        #expect(server.requests.isEmpty)
        #expect(fetch.files().isEmpty)
        let help = try await fetch.run("--help", status: 0)
        #expect(help.text.hasPrefix("usage: fetch [options] URL...\n"))
        #expect(help.errors.isEmpty)
    }
}
