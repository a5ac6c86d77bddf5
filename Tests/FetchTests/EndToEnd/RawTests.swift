import Foundation
import LoopbackServer
import Testing

/// Answers that are marked with a coding (O14), and `--raw`.
@Suite(.timeLimit(.minutes(5)))
struct RawTests: ProgramSuite {
    /// "hello" and a line break, 100 times.
    private static let packed: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 231, 202, 24, 37, 71, 73, 170,
        146, 0, 221, 210, 76, 150, 88, 2, 0, 0,
    ]
    private static let unpacked = Array(String(repeating: "hello\n", count: 100).utf8)

    let fetch = FetchProgram()

    private func serve(_ coding: String, at path: String = "/f") -> String {
        server.route(
            path, .bytes(Self.packed, headers: [("Content-Encoding", coding), ("ETag", "\"1\"")]))
        return url(path)
    }

    @Test(
        "O14: a coding that is none is no compression, and what is marked with it is stored as it is",
        arguments: [
            "identity", "none", "aws-chunked", "utf-8", "UTF-8", "identity, identity", "Identity,none",
            "aws-chunked, identity", "", " ,",
        ])
    func none(coding: String) async throws {
        let url = serve(coding)
        for options in [[], ["--raw"], ["--continue", "-o", "c"]] {
            try await fetch.run(options + [url], status: 0)
            for name in fetch.files() {
                #expect(fetch.contents(name) == Self.packed, "\(options) \(name)")
                try FileManager.default.removeItem(at: fetch.file(name))
            }
        }
        let streamed = try await fetch.run("-o", "-", url, status: 0)
        #expect(Array(streamed.output) == Self.packed)
    }

    @Test(
        "O14: --raw stores what is sent, and the other hints of the refusal work when they are followed",
        arguments: ["gzip", "x-gzip", "GZIP", "aws-chunked, gzip", "compress", "gzip, identity"])
    func hints(coding: String) async throws {
        let url = serve(coding, at: "/f.tgz")
        let refusal = try await fetch.run(
            url, status: 1, saying: "--raw stores it as it is sent", leaving: [])
        try await fetch.run("--raw", url, status: 0, leaving: ["f.tgz"])
        #expect(fetch.contents("f.tgz") == Self.packed)
        let rest = refusal.errors.split(separator: "-H '").dropFirst().first
        if let header = rest?.prefix(while: { $0 != "'" }) {
            try await fetch.run("-H", String(header), "--overwrite", url, status: 0)
            #expect(fetch.contents("f.tgz") == Self.unpacked, "\(header)")
        }
        #expect((rest != nil) == !["aws-chunked, gzip", "compress"].contains(coding))
    }

    @Test("A head that Foundation refuses is accepted with --raw, as the hint says")
    func heads() async throws {
        for (path, head) in [
            ("/lf", "HTTP/1.1 200 OK\nContent-Length: 5\n\n"),
            ("/crcr", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\r\n"),
            ("/space", "HTTP/1.1 200 OK\r\nX-A : b\r\nContent-Length: 5\r\n\r\n"),
        ] { server.route(path, Answer { try $0.send(head + "hello") }) }
        let urls = urls("/lf", "/crcr", "/space")
        let refusal = try await fetch.run(urls, status: 1, leaving: [])
        #expect(
            refusal.errorLines.filter { $0.hasSuffix("; --raw may accept it") }.count == 3,
            "\(refusal.errors)")
        try await fetch.run(["--raw"] + urls, status: 0, leaving: ["crcr", "lf", "space"])
    }

    @Test("--raw, and a request that is made again that way, have the cookies of the others, and those of -H")
    func cookies() async throws {
        server.route("/set", .text("", status: 302, headers: [("Location", "/aws"), ("Set-Cookie", "s=1")]))
        server.route("/aws", .text("it", headers: [("Content-Encoding", "aws-chunked")]))
        for (options, sent) in [
            ([], [nil, "s=1", "s=1"]), (["--raw"], [nil, "s=1"]),
            (["-H", "Cookie: a=1"], ["a=1", "a=1", "a=1"]),
        ] as [([String], [String?])] {
            let before = server.requests.count
            try await fetch.run(["--overwrite"] + options + [url("/set")], status: 0)
            // The request for /set is made again, too: the first answer's cookie is known by then.
            let asked = server.requests.dropFirst(before).filter { $0.path == "/aws" }.map {
                $0[header: "Cookie"]
            }
            #expect(asked == Array(sent.dropFirst()), "\(options)")
        }
    }

    @Test("--raw resumes, follows redirects, retries, checks and limits as without it")
    func transport() async throws {
        server.route("/moved", .redirect(to: "/broken"))
        server.route(
            "/broken", .resource(300_000, etag: "\"1\"", breakingOffAfter: 100_000),
            .resource(300_000, etag: "\"1\""))
        server.route("/short", .truncated(after: 10, of: 20))
        server.route("/chunked", .chunked([Pattern.bytes(5000)]))
        server.route("/close", .untilClose(Pattern.bytes(5000)))
        server.route("/interim", .interim(103, then: .pattern(5000)))
        server.route("/reset", .reset)
        try await fetch.run("--raw", "--continue", url("/moved"), status: 1)
        try await fetch.run("--raw", "--continue", url("/moved"), status: 0, leaving: ["moved"])
        #expect(fetch.isPattern("moved", 300_000))
        #expect(server.requests.last?[header: "Range"] == "bytes=100000-")
        let outcome = try await fetch.run(
            ["--raw", "--json", "--max-filesize", "100k", "-d", "new"]
                + urls("/short", "/chunked", "/close", "/interim", "/reset", "/none") + [
                    "http://127.0.0.1:1/x", server.url("/moved"),
                ], status: 1)
        for name in ["chunked", "close", "interim"] {
            #expect(fetch.isPattern("new/\(name)", 5000), "\(name)")
        }
        for (path, words) in [
            ("/short", "truncated: 10 of 20 bytes"), ("/reset", "connection lost"), ("/none", "404"),
            ("/moved", "larger than the limit"),
        ] { #expect(outcome.objects[url(path)]?.error?.contains(words) == true, "\(outcome.text)") }
        #expect(outcome.objects["http://127.0.0.1:1/x"]?.error?.hasPrefix("cannot connect") == true)
        server.route("/echo", .echo)
        let echo = try await fetch.run(
            "--raw", "-q", "-o", "-", "-H", "A: b", "-H", "Accept:", "-H", "X-Empty;", url("/echo"), status: 0
        )
        #expect(echo.text.contains("A: b\r\n") && echo.text.contains("X-Empty: \r\n"), "\(echo.text)")
        #expect(!echo.text.contains("Accept: "), "\(echo.text)")
    }

    @Test("--raw: Ctrl-C ends a transfer that is silent")
    func interrupt() async throws {
        server.route("/stalls", .stalled(after: 1000, of: 2000))
        let running = try fetch.start(["--raw", url("/stalls")])
        await server.waitForRequests(seen: 1)
        running.send(SIGINT)
        #expect(await running.outcome.status == 130 && fetch.files().isEmpty)
    }
}
