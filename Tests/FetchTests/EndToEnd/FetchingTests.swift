import Foundation
import LoopbackServer
import TestSupport
import Testing

/// The program as users run it: URLs in, files and an exit status out.
@Suite(.watchdog(atOnce: .few))
struct FetchingTests: ProgramSuite {
    let fetch = FetchProgram(serving: [
        "/a.txt": .text("first\n"), "/sub/a.txt": .text("second\n"), "/big.bin": .pattern(3_000_000),
        "/stalls": .stalled(after: 1000, of: 2000), "/silent": .stalled,
    ])

    @Test("Several URLs are fetched, each to a file named by its path, no two to the same")
    func several() async throws {
        let outcome = try await fetch.run(
            url("/a.txt"), url("/big.bin?x=1"), url("/sub/a.txt"), status: 0,
            leaving: ["a.txt", "a.txt.1", "big.bin"])
        #expect(outcome.output.isEmpty && fetch.isPattern("big.bin", 3_000_000))
        #expect(fetch.text("a.txt") == "first\n" && fetch.text("a.txt.1") == "second\n")
        #expect(outcome.errorLines.count == 4)
        #expect(outcome.errorLines.last?.hasPrefix("3 of 3 fetched, 3.0 MB in ") == true, "\(outcome.errors)")
    }

    @Test("Each failure is one line that names URL and reason, and the others are fetched")
    func failures() async throws {
        server.route("/reset", .reset)
        server.route("/short", .truncated(after: 10, of: 20))
        server.route("/loop", .redirect(to: "/loop"))
        try fetch.makeFolder("down")
        let reasons = [
            url("/none"): "404 Not Found", url("/reset"): "connection lost",
            url("/down"): "it is a directory",
            url("/short"): "truncated: 10 of 20 bytes", url("/loop"): "redirected more than",
            "http://127.0.0.1:1/x": "cannot connect",
            // Too long for a host name, so that no name server is asked.
            "http://\(String(repeating: "x", count: 64)).invalid/": "cannot connect",
            "ftp://h/a": "only http and https", "nonsense": "not a URL", "http://[::1": "not a URL",
        ]
        let outcome = try await fetch.run(
            reasons.keys + [url("/a.txt"), "-j", "2"], status: 1, leaving: ["a.txt", "down"])
        #expect(fetch.files("down").isEmpty)
        for (url, reason) in reasons {
            let lines = outcome.errorLines.filter { $0.hasPrefix("fetch: \(url): ") }
            #expect(lines.count == 1 && lines[0].contains(reason), "\(url): \(outcome.errors)")
        }
        #expect(outcome.errorLines.last?.hasSuffix("; 10 failed") == true)
    }

    @Test(
        "-o names the file, or a folder that is made, in that of -d; '-o -' writes to standard output alone")
    func output() async throws {
        for options in [
            ["-o", "b"], ["-d", "new/dir", "-o", "c"], ["-o", "d/"], ["-o", "b/c/", "-d", "e"],
        ] {
            try await fetch.run(options + [url("/a.txt")], status: 0)
        }
        #expect(
            fetch.files("new/dir") == ["c"] && fetch.files("d") == ["a.txt"]
                && fetch.files("e/b/c") == ["a.txt"])
        let outcome = try await fetch.run(
            "-o", "-", url("/big.bin"), status: 0, leaving: ["b", "d", "e", "new"])
        #expect(outcome.output.count == 3_000_000 && Pattern.matches(outcome.output, at: 0))
        let failed = try await fetch.run("-o", "-", url("/none"), "--quiet", status: 1)
        #expect(failed.output.isEmpty && failed.errors == "fetch: \(url("/none")): 404 Not Found\n")
    }

    @Test("A file that exists stays, except under --overwrite; --skip-existing counts it as done")
    func existing() async throws {
        try fetch.write("mine", to: "a.txt")
        try await fetch.run(
            url("/a.txt"), status: 1,
            saying: "'a.txt' exists; choose --overwrite, --skip-existing, --continue or --newer")
        let skipped = try await fetch.run("--skip-existing", "--json", url("/a.txt"), status: 0)
        #expect(skipped.objects[url("/a.txt")]?.attempts == 0 && server.requests.isEmpty)
        try await fetch.run("--overwrite", url("/none"), "-o", "a.txt", status: 1)
        #expect(fetch.text("a.txt") == "mine")
        try await fetch.run("--overwrite", url("/a.txt"), status: 0, leaving: ["a.txt"])
        #expect(fetch.text("a.txt") == "first\n")
    }

    @Test("-j N is N at once, to one host too, and never more", arguments: [1, 3, 16])
    func jobs(count: Int) async throws {
        let gate = Gate()
        for index in 0..<20 { server.route("/\(index)", .held(by: gate, then: .text("x"))) }
        let program = try fetch.start(["-j", "\(count)"] + (0..<20).map { url("/\($0)") })
        await server.waitForRequests(underWay: count)
        gate.open()
        #expect(await program.outcome.status == 0)
        #expect(server.mostRequestsUnderWay == count && fetch.files().count == 20)
    }

    @Test("A silent server fails after --timeout, a slow one after --max-time, and no file is left")
    func timeouts() async throws {
        server.route("/slow", .drip(1000, atOnce: 1, everyMilliseconds: 20))
        // Of a redirect, Foundation reports nothing before its body has ended.
        server.route(
            "/endless",
            Answer { exchange in
                try exchange.sendHead(302, [("Location", "/a.txt")])
                while true {
                    try exchange.sendPattern(0..<1000)
                    try exchange.pause(milliseconds: 10)
                }
            })
        let silent = try await fetch.run(
            "--timeout", "0.3", url("/silent"), url("/stalls"), url("/endless"), status: 1)
        let lines = silent.errorLines.filter { $0.contains("timed out: ") && $0.hasSuffix(" for 0.3 s") }
        #expect(lines.count == 3, "\(silent.errors)")
        let unusable = lines.filter { $0.contains("no usable answer") }
        for path in ["/silent", "/endless"] {
            #expect(unusable.contains { $0.contains(path) }, "\(silent.errors)")
        }
        try await fetch.run(
            "--max-time", "0.5", url("/slow"), status: 1,
            saying: "fetch: \(url("/slow")): not done after 0.5 s (--max-time)", leaving: [])
    }

    @Test("--limit-rate limits all transfers together")
    func limitRate() async throws {
        // 12 s in all. Each body arrives in one piece; the large one delays both transfers for 11 s.
        let sizes = ["large": 11_000, "small": 1000]
        for (name, size) in sizes { server.route("/\(name)", .pattern(size)) }
        let outcome = try await fetch.run(
            "--limit-rate", "1k", "-d", "d", "--json", url("/large"), url("/small"), status: 0)
        // A lower bound only: a busy machine may take any time.
        #expect(try #require(outcome.objects.values.map(\.seconds).max()) >= 11.99, "\(outcome.text)")
        for (name, size) in sizes { #expect(fetch.isPattern("d/\(name)", size)) }
        let slow = try fetch.start(["--limit-rate", "1k", url("/big.bin")])
        await server.waitForRequests(seen: 3)
        slow.send(SIGINT)
        #expect(await slow.outcome.status == 130)
        #expect(fetch.files() == ["d"])
    }

    @Test(
        "--retry repeats after transient errors, and says so, and not after others; --json has the last status"
    )
    func retry() async throws {
        server.route("/flaky", .status(503), .truncated(after: 5, of: 10), .text("whole"))
        server.route("/broken", .status(500))
        server.route("/short", .truncated(after: 4_000_000, of: 8_000_000))
        server.route("/resumed", .resource(100_000, etag: "\"1\"", breakingOffAfter: 30_000))
        let paths = ["/flaky", "/none", "/broken", "/short", "/resumed"]
        let outcome = try await fetch.run(
            ["--retry", "2", "--json", "--continue"] + paths.map(url), status: 1,
            saying: "\(url("/flaky")): 503 Service Unavailable; again in ",
            leaving: ["flaky", "resumed.part", "resumed.part.from"])
        #expect(fetch.text("flaky") == "whole")
        let objects = paths.map { outcome.objects[url($0)] }
        #expect(objects.map { $0?.attempts } == [3, 1, 3, 3, 3])
        #expect(objects.map { $0?.status } == [200, 404, 500, 200, 206])
        #expect(objects[2]?.error == "500 Internal Server Error (3 tries)")
    }

    @Test(
        "--input reads URLs from a file, standard input, a pipe or a device, after those of the command line")
    func input() async throws {
        try fetch.write("# two\n\n\(url("/a.txt"))\r\n  \(url("/sub/a.txt"))", to: "list")
        try await fetch.run("--input", "list", "-d", "x", status: 0)
        #expect(fetch.files("x") == ["a.txt", "a.txt.1"])
        try await fetch.run(
            "--input", "-", "-d", "y", url("/sub/a.txt"), input: "\(url("/a.txt"))\n", status: 0)
        #expect(fetch.text("y/a.txt") == "second\n" && fetch.text("y/a.txt.1") == "first\n")
        try await fetch.run("--input", "-", input: "# none\n", status: 0)
        try fetch.makePipe("pipe")
        let preparation = "{ echo \(url("/a.txt")) > pipe & }"
        try await fetch.run(["--input", "pipe", "-d", "z"], preparation: preparation, status: 0)
        #expect(fetch.text("z/a.txt") == "first\n")
        try await fetch.run("--input", "/dev/null", status: 0)
    }

    @Test("--fail-fast stops at the first failure, and each URL is accounted for")
    func failFast() async throws {
        let gate = Gate()
        server.route("/fails", .held(by: gate, then: .status(404)))
        let urls = urls("/stalls", "/fails", "/a.txt")
        let program = try fetch.start(["--fail-fast", "--json", "-j", "2"] + urls)
        // Both places are taken, so that the third cannot begin before one of the two fails.
        await server.waitForRequests(underWay: 2)
        gate.open()
        let outcome = await program.outcome
        let cancelled = "cancelled: another URL failed"
        #expect(outcome.status == 1 && outcome.objects.count == 3)
        #expect(urls.map { outcome.objects[$0]?.error } == [cancelled, "404 Not Found", cancelled])
        #expect(server.requests.count == 2 && fetch.files().isEmpty)
    }

    @Test("--first keeps the file of the first mirror that is whole, cancels the others, and leaves one file")
    func first() async throws {
        let gate = Gate()
        server.route("/good/f", .held(by: gate, then: .pattern(500_000)))
        let urls = urls("/none/f", "/stalls", "/good/f")
        let program = try fetch.start(["--first", "--json", "-o", "f"] + urls)
        // One has failed and the other two are running before the gate opens for one of them.
        await program.wait { String(decoding: $0.output, as: UTF8.self).contains("404 Not Found") }
        await server.waitForRequests(underWay: 2)
        gate.open()
        let outcome = await program.outcome
        #expect(outcome.status == 0 && fetch.files() == ["f"] && fetch.isPattern("f", 500_000))
        let cancelled = "cancelled: another mirror was first"
        #expect(urls.map { outcome.objects[$0]?.error } == ["404 Not Found", cancelled, nil])
        #expect(outcome.objects[urls[2]]?.file == "f")

        let failed = try await fetch.run("--first", "-o", "g", url("/none"), url("/none/f"), status: 1)
        #expect(failed.errorLines.filter { $0.hasSuffix(": 404 Not Found") }.count == 2)
        try await fetch.run(["--first", "-o", "f"] + urls, status: 1, saying: "'f' exists", leaving: ["f"])
    }

    @Test("Invalid usage is named, exits with 2, and nothing is fetched")
    func usage() async throws {
        for arguments in [["--jsn"], ["--input", "nowhere"], ["--json", "-o", "-"], ["--input", "."]] {
            let outcome = try await fetch.run(
                arguments + [url("/a.txt")], status: 2, saying: "fetch: ", leaving: [])
            #expect(outcome.errorLines.count == 1, "\(arguments)")
        }
        try await fetch.run(status: 2)
        try Data([0xFF]).write(to: fetch.file("list"))
        try await fetch.run("--input", "list", status: 2, saying: "for --input: it is not UTF-8")
        for option in ["-d", "-o", "--input"] {
            try await fetch.run(
                [url("/a.txt")], preparation: #"set -- "$@" \#(option) "$(printf 'x\377')""#, status: 2,
                saying: "is not UTF-8", leaving: ["list"])
        }
        #expect(server.requests.isEmpty)
        let help = try await fetch.run("--help", status: 0)
        #expect(help.text.hasPrefix("usage: fetch [options] URL...\n") && help.errors.isEmpty)
    }

    @Test("Many URLs from --input are fetched, in little more memory than few")
    func memory() async throws {
        func peak(_ count: Int) async throws -> Int? {
            let gate = Gate()
            server.route("/last", .held(by: gate, then: .text("last\n")))
            let folder = "of-\(count)"
            let paths = (1..<count).map { "/a.txt?\($0)" } + ["/last"]
            let list = paths.map(server.url).joined(separator: "\n")
            let before = server.requests.count
            let program = try fetch.start(["-q", "-j", "16", "-d", folder, "--input", "-"], input: list)
            await server.waitForRequests(seen: before + count)
            let peak = Self.peakMemory(of: program)
            gate.open()
            let outcome = await program.outcome
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(fetch.files(folder).count == count)
            return peak
        }
        let counts = Extent.isDebug || Extent.isSanitized ? (250, 1250) : (500, 4_000)
        let (few, many) = (try await peak(counts.0), try await peak(counts.1))
        // A sanitizer takes memory of its own. 7 kB for each: what is written about it, and no transfer.
        if !Extent.isSanitized, let few, let many {
            #expect(
                many - few < (counts.1 - counts.0) * 7,
                "\(few) kB for \(counts.0), \(many) kB for \(counts.1)")
        }
    }

    /// The peak memory of a process so far, in kilobytes; nil where the system does not report it. (On
    /// Linux, the figure of `wait4` includes the memory of the parent process.)
    private static func peakMemory(of program: RunningProgram) -> Int? {
        let status = try? String(contentsOfFile: "/proc/\(program.identifier)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line.flatMap { Int($0.split(whereSeparator: \.isWhitespace)[1]) }
    }
}
