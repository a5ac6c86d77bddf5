import Foundation
import LoopbackServer
import TestSupport
import Testing

/// What people who know curl and wget expect.
@Suite(.watchdog(atOnce: .few))
struct CurlHabitsTests: ProgramSuite {
    let fetch = FetchProgram(serving: ["/a.txt": .text("first\n")])

    private func modified(_ name: String) throws -> Date? {
        try FileManager.default.attributesOfItem(atPath: fetch.file(name).path)[.modificationDate] as? Date
    }

    @Test("O9: the password of a URL is sent, and shown or written nowhere")
    func password() async throws {
        server.route("/open", .authenticated(basic: "bWU6czNjcmV0", then: .text("open\n")))
        server.route("/part", .resource(100_000, etag: "\"1\"", breakingOffAfter: 40_000))
        server.route("/away", .redirect(to: "http://me:s3cret@127.0.0.1:1/x"))
        server.route("/twice", .redirect(to: "http://127.0.0.1:1/y, http://me:s3cret@127.0.0.1:1/x"))
        let origin = url("").replacing("http://", with: "http://me:s3cret@")
        let urls =
            ["/open", "/none", "/part", "/away", "/twice", "/two words"].map { origin + $0 } + [
                "http://me:s3cret@127.0.0.1:1/refused", "ftp://me:s3cret@h/x", "me:s3cret@h/x",
                "http://me:s3cret@/x", "http://me:s3cret@h:port/", "http://me:s3/cret@h[/",
                "http://me:s3cret@a b/",
                origin.replacing("s3cret", with: #"s3cret\"#) + "/none", #"http://m\e:s3\cret@127.0.0.1:1/x"#,
                "http://me:/s3cret@h/", "http://me:#s3cret@h/", "http://me:?s3cret@h/a@b",
            ]
        for options in [
            ["--waterfall", "w.svg", "--trace", "t.json", "--retry", "1"], ["--mirrors", "-o", "m"],
        ] {
            let outcome = try await fetch.run(["--json", "--continue"] + options + urls)
            #expect(outcome.status == (options.contains("--mirrors") ? 0 : 1), "\(outcome.errors)")
            for name in fetch.files() { #expect(fetch.text(name)?.contains("cret") == false, "\(name)") }
            #expect(!(outcome.errors + outcome.text).contains("cret"), "\(outcome.errors)\(outcome.text)")
        }
        #expect(fetch.text("open") == "open\n" && fetch.files().contains("part.part.from"))
        let terminal = try PseudoTerminal(columns: 100, rows: 30)
        let bars = try fetch.start(
            ["--first"] + urls, errors: .terminal(terminal), environment: ["TERM": "xterm"])
        #expect(!(await bars.outcome.errors).contains("cret"))
    }

    @Test("An error has the address once, also where it is spelled differently, and that of a redirect")
    func addressOnce() async throws {
        server.route("/moved", .redirect(to: "/none"))
        let (moved, none) = (url("/moved"), url("/none"))
        let same = [none, none.replacing("http", with: "HTTP") + "#part", url("/two words"), url("?q")]
        let outcome = try await fetch.run(same + [moved])
        let expected =
            same.map { "fetch: \($0): 404 Not Found" } + ["fetch: \(moved): 404 Not Found (\(none))"]
        #expect(outcome.errorLines.dropLast().sorted() == expected.sorted())
    }

    @Test("An answer that is compressed unasked is refused, and stored unpacked if it was asked for")
    func compression() async throws {
        // "hello" and a line break, 100 times.
        let packed: [UInt8] = [
            31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 231, 202, 24, 37, 71, 73, 170,
            146, 0, 221, 210, 76, 150, 88, 2, 0, 0,
        ]
        server.route("/a.gz", .gzip(packed))
        for options in [[], ["-H", "Accept-Encoding: identity"], ["-H", "Accept-Encoding:"]] {
            try await fetch.run(
                options + [url("/a.gz")], status: 1, saying: "compressed (gzip), which was not asked for",
                leaving: [])
        }
        try await fetch.run("-H", "Accept-Encoding: gzip", url("/a.gz"), status: 0)
        #expect(fetch.text("a.gz") == String(repeating: "hello\n", count: 100))
    }

    @Test("-H: cookies are joined as one header, 'Name:' removes one, 'Name;' sends it empty")
    func headers() async throws {
        server.route("/echo", .echo)
        let headers = [
            "Cookie: a=1", "X-A: 1", "cookie: b=2", "User-Agent:", "Accept:", "X-Empty;", "X-A: 2",
            "Accept-Language:",
            "X-Both:", "X-Both: 1",
        ]
        let outcome = try await fetch.run(
            headers.flatMap { ["-H", $0] } + ["-q", "-o", "-", url("/echo")], status: 0)
        let lines = outcome.text.components(separatedBy: "\r\n").map { $0.lowercased() }
        for line in ["cookie: a=1; b=2", "x-empty: ", "x-both: 1", "accept-encoding: identity"] {
            #expect(lines.contains(line), "\(lines)")
        }
        for name in ["user-agent", "accept", "accept-language"] {
            #expect(!lines.contains { $0.hasPrefix(name + ":") }, "\(lines)")
        }
    }

    @Test("--json: the bytes of a failed download are those that its last attempt received")
    func receivedBytes() async throws {
        let paths = (0..<20).map { index -> String in
            server.route(
                "/\(index)",
                Answer { exchange in
                    try exchange.sendHead(200, contentLength: 5000)
                    try exchange.sendPattern(0..<1000)
                    // Sends what is held back. Progress is reported for the first piece, and not soon again.
                    try exchange.pause(milliseconds: 1)
                    try exchange.sendPattern(1000..<1000 + index)
                    try exchange.hangUp()
                })
            return url("/\(index)")
        }
        let outcome = try await fetch.run(["--json"] + paths, status: 1, leaving: [])
        for (index, url) in paths.enumerated() {
            #expect(outcome.objects[url]?.bytes == 1000 + index, "\(outcome.text)")
        }
    }

    @Test("--json: status, bytes and result, whatever the reason of a failure")
    func failures() async throws {
        server.route("/large", .pattern(3000))
        server.route("/page", .text(String(repeating: "x", count: 3000), status: 404))
        server.route("/ftp", .redirect(to: "ftp://h/"))
        server.route("/loop", .redirect(to: "/loop"))
        server.route("/part", .text("x", status: 206, headers: [("Content-Range", "bytes 0-0/9")]))
        let paths: [(String, Int, Int)] = [
            ("/large", 200, 0), ("/page", 404, 3000), ("/ftp", 302, 0), ("/loop", 302, 0), ("/part", 206, 0),
        ]
        let outcome = try await fetch.run(
            ["--json", "--max-filesize", "2k"] + paths.map { url($0.0) }, status: 1, leaving: [])
        for (path, status, bytes) in paths {
            let object = outcome.objects[url(path)]
            #expect(
                object?.status == status && object?.bytes == bytes && object?.result == "failed", "\(path)")
        }
        // Cancelled, and known by then.
        server.route("/slow", .stalled(after: 1000, of: 2000))
        let running = try fetch.start(["--raw", "--json", url("/slow")])
        await server.waitForRequests(underWay: 1)
        running.send(SIGINT)
        let object = await running.outcome.objects[url("/slow")]
        #expect(object?.result == "cancelled" && [200, nil].contains(object?.status))
        // LongerThanServer: what HEAD says.
        try fetch.write(String(repeating: "x", count: 4000), to: "large")
        let longer = try await fetch.run("--json", "--continue", url("/large"), status: 1)
        #expect(longer.objects[url("/large")]?.status == 200)
        let skipped = try await fetch.run("--json", "--skip-existing", url("/large"), status: 0)
        #expect(skipped.objects[url("/large")]?.result == "skipped")
    }

    @Test("What is on standard output has it for itself, and a picture never replaces what is fetched")
    func outputs() async throws {
        for arguments in [
            ["--json", "--waterfall", "/dev/stdout"], ["-o", "-", "--trace", "/dev/stdout"],
            ["--json", "-o", "/dev/stdout"],
        ] {
            try await fetch.run(arguments + [url("/a.txt")], status: 2, saying: "both want standard output")
        }
        #expect(server.requests.isEmpty)
        server.route("/f", .text("it", headers: [("Content-Disposition", "attachment; filename=w.svg")]))
        try await fetch.run(
            "--remote-name", "--overwrite", "--waterfall", "w.svg", url("/f"), status: 0,
            leaving: ["w.svg", "w.svg.1"])
        #expect(fetch.text("w.svg.1") == "it" && fetch.text("w.svg")?.hasPrefix("<svg") == true)
    }

    @Test("A current folder that has been deleted is named as that, unless nothing is to be in it")
    func deletedFolder() async throws {
        let deletion = "mkdir gone && cd gone && rmdir ../gone"
        try await fetch.run(
            [url("/a.txt")], preparation: deletion, status: 2, saying: "the current folder cannot be used")
        let path = fetch.file("b").path
        try await fetch.run(["-o", path, url("/a.txt")], preparation: deletion, status: 0, leaving: ["b"])
        try await fetch.run(["-o", "-", url("/a.txt")], preparation: deletion, status: 0)
        #expect(server.requests.count == 2)
    }

    @Test("The hints of other errors work when they are followed")
    func hints() async throws {
        server.route("/b.txt", .text("second\n"))
        let (a, b) = (url("/a.txt"), url("/b.txt"))
        let bare = a.replacing("http://", with: "")
        let cases: [(wrong: [String], hint: String, right: [[String]])] = [
            ([bare], "did you mean http://\(bare)?", [[a]]),
            (
                ["-o", "f", a, b], "use -d for a folder, or --mirrors",
                [["-d", "f", a, b], ["--mirrors", "-o", "f", a, b]]
            ),
            (["-"], "'--input -'", [["--input", "-"]]),
            (
                ["-o", "c", a, "--waterfall", "w/w.svg"], "create the folder before",
                [["-d", "w", a, "--waterfall", "w/w.svg"]]
            ),
            (["--overwite", a], "did you mean '--overwrite'", [["--overwrite", a]]),
            (["-H", "A b", a], "'Name: value'", [["-H", "A: b", a]]),
            (["--continue", "-o", "long", a], "choose --overwrite", [["--overwrite", "-o", "long", a]]),
        ]
        for (wrong, hint, right) in cases {
            for arguments in right {
                for name in fetch.files() { try FileManager.default.removeItem(at: fetch.file(name)) }
                try fetch.write("longer than the server's", to: "long")
                let refusal = try await fetch.run(wrong, saying: hint)
                #expect(refusal.status > 0)
                try await fetch.run(arguments, input: a, status: 0)
            }
        }
    }

    @Test("The hint about a file that exists works when it is followed, whatever else was asked for")
    func existingHints() async throws {
        for options in [[], ["--first"], ["--mirrors"], ["--remote-name"], ["-o", "a.txt"]] {
            try fetch.write("other\n", to: "a.txt")
            let refusal = try await fetch.run(
                options + [url("/a.txt")], status: 1, saying: "'a.txt' exists; choose")
            let choices = refusal.errors.split { !$0.isLetter && $0 != "-" }.filter { $0.hasPrefix("--") }
            #expect(choices.count >= 2)
            for choice in choices.map(String.init) {
                let outcome = try await fetch.run(options + [choice, url("/a.txt")])
                #expect(outcome.status == 0, "\(options) \(choice): \(outcome.errors)")
            }
        }
    }

    @Test("--max-filesize: a larger file fails, announced or not, and leaves nothing")
    func sizeLimit() async throws {
        server.route("/announced", .pattern(2001))
        server.route("/counted", .untilClose(Pattern.bytes(2001)))
        server.route("/fits", .pattern(2000))
        let urls = urls("/announced", "/counted", "/fits")
        let outcome = try await fetch.run(["--max-filesize", "2k"] + urls, status: 1, leaving: ["fits"])
        for url in urls.prefix(2) {
            #expect(outcome.errorLines.contains("fetch: \(url): larger than the limit of 2000 bytes"))
        }
    }

    @Test("--remote-time gives a file the server's date, also a resumed one; without it, it has its own")
    func remoteTime() async throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        for name in ["dated", "own", "first"] {
            server.route("/\(name)", .resource(1000, lastModified: date))
        }
        server.route(
            "/resumed", .resource(1000, lastModified: date, breakingOffAfter: 400),
            .resource(1000, lastModified: date))
        for (options, path, status) in [
            (["-R"], "/dated", 0), (["-R"], "/a.txt", 0), (["--remote-time", "--first"], "/first", 0),
            ([], "/own", 0), (["-R", "--continue"], "/resumed", 1), (["-R", "--continue"], "/resumed", 0),
        ] as [([String], String, Int32)] {
            try await fetch.run(options + [url(path)], status: status)
        }
        let sent = Date(timeIntervalSince1970: 784_111_777)
        for name in ["dated", "first", "resumed"] { #expect(try modified(name) == sent, "\(name)") }
        for name in ["own", "a.txt"] { #expect(try #require(try modified(name)) > sent + 1e9 / 2, "\(name)") }
    }

    @Test("http_proxy names a proxy, and no_proxy the hosts that are asked without it")
    func proxy() async throws {
        server.route("http://elsewhere.invalid/a.txt", .text("by proxy\n"))
        let environment = ["http_proxy": server.url(), "no_proxy": "127.0.0.1"]
        let urls = ["http://elsewhere.invalid/a.txt", url("/a.txt")]
        try await fetch.run(urls, environment: environment, status: 0)
        #expect(fetch.text("a.txt") == "by proxy\n" && fetch.text("a.txt.1") == "first\n")
    }

    @Test(
        "https_proxy: a proxy that refuses, or leads to no server of TLS, is the reason, and not the answer")
    func tunnel() async throws {
        let noTLS = Answer { exchange in
            try exchange.sendHead(200)
            try exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            try exchange.hangUp()
        }
        let address = "https://elsewhere.invalid/a.txt"
        for (answer, words) in [
            (.status(407), "407"), (.status(403), "403"), (.status(302), "302"), (noTLS, "SSL"),
        ] {
            server.route("elsewhere.invalid:443", answer)
            let outcome = try await fetch.run(
                ["--json", "--timeout", "1000", address], environment: ["https_proxy": server.url()],
                status: 1,
                saying: "fetch: \(address): cannot connect: ", leaving: [])
            #expect(outcome.objects[address]?.status == nil && outcome.errors.contains(words))
        }
        #expect(server.requests.allSatisfy { $0.method == "CONNECT" })
    }

    // A sanitizer's runtime needs more.
    @Test("Too few file descriptors are named as that", .disabled(if: Extent.isSanitized))
    func descriptors() async throws {
        // Enough for the part files and for what Dispatch needs, which stops the process without, and not for
        // the connections.
        let urls = (0..<40).map { index in
            server.route("/\(index)", .stalled)
            return url("/\(index)")
        }
        let program = try fetch.start(["-j", "40"] + urls, preparation: "ulimit -n 64")
        await program.waitForErrors(containing: "oo many open files")
        program.send(SIGINT)
        // Either a connection or a part file is what is one too many. Not all connections: others may have given
        // descriptors back when a failure is looked at.
        let reported = await program.outcome.errorLines
        let errors = reported.filter { $0.hasPrefix("fetch: ") }
        for kind in ["cannot be written: ", "onnect"] {
            let lines = errors.filter { $0.contains(kind) }
            #expect(lines.isEmpty || lines.contains { $0.contains("oo many open files") }, "\(errors)")
        }
        #expect(!errors.isEmpty)
        // U1: a request that fails while it is cancelled is nobody's unhandled failure.
        #expect(!reported.contains { $0.contains("unhandled failure") }, "\(reported)")
    }

    @Test("What a killed run has left is removed by the next one for the same files, and nothing else")
    func abandoned() async throws {
        for name in ["it", "other", "f"] { server.route("/\(name)", .stalled(after: 1000, of: 2000)) }
        let others = ["it.12345.part", "it.1234567g.part", "mine.12345678.part", "it.part"]
        for name in others { try fetch.write("mine", to: name) }
        try fetch.write("mine", to: "it.87654321.part")
        let urls = ["/it", "/other"].map { url($0) }
        let killed = try fetch.start(urls)
        let first = try fetch.start(["--first", url("/f")])
        let running = try fetch.start(["-o", "it", urls[0]])
        await server.waitForRequests(underWay: 4)
        for program in [killed, first] {
            program.send(SIGKILL)
            #expect(await program.outcome.wasKilled)
        }
        for name in ["it", "other", "f"] { server.route("/\(name)", .text("whole")) }
        #expect(fetch.files().count == others.count + 5)
        try await fetch.run(["--first", urls[1], url("/f")], status: 0)
        try await fetch.run(["--overwrite"] + urls, status: 0)
        // A part file has the mode 600: that of the file with its name is another.
        let left = Set(fetch.files()).subtracting(others + ["it", "other", "it.87654321.part"])
        #expect(left.count == 1 && left.first?.hasPrefix("it.") == true, "\(left)")
        running.send(SIGINT)
        #expect(await running.outcome.status == 130)
        #expect(Set(fetch.files()) == Set(others + ["it", "other", "it.87654321.part"]))
    }
}
