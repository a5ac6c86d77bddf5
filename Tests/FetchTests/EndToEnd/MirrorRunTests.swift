import Foundation
import LoopbackServer
import TestSupport
import Testing

/// `--mirrors`: several addresses of one file, which continue each other.
@Suite(.watchdog(atOnce: .few))
struct MirrorRunTests: ProgramSuite {
    let fetch = FetchProgram(serving: [
        "/one/f": .resource(100_000, etag: "\"1\"", breakingOffAfter: 30_000),
        "/two/f": .resource(100_000, etag: "\"2\"", breakingOffAfter: 50_000),
        "/three/f": .resource(100_000, etag: "\"3\"", lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"),
    ])

    @Test("--mirrors: each mirror continues where the one before it broke off, and one file is left")
    func continued() async throws {
        let urls = urls("/one/f", "/two/f", "/three/f")
        let outcome = try await fetch.run(
            ["--mirrors", "--json"] + urls, status: 0, saying: "1 of 1 fetched, 100 kB in ", leaving: ["f"])
        #expect(server.requests.map { $0[header: "Range"] } == [nil, "bytes=30000-", "bytes=80000-"])
        #expect(outcome.objects.count == 1 && fetch.isPattern("f", 100_000))
        #expect(outcome.objects[urls[0]]?.file == "f" && outcome.objects[urls[0]]?.bytes == 100_000)
    }

    @Test("--mirrors: to a file, to standard output, with a malformed address among them")
    func destinations() async throws {
        try await fetch.run(
            "--mirrors", "-d", "d", "-o", "g", "nonsense", url("/none"), url("/three/f"),
            status: 0, saying: "fetch: nonsense: not a URL: ")
        #expect(fetch.isPattern("d/g", 100_000))
        let output = try await fetch.run(
            "--mirrors", "-o", "-", url("/one/f"), url("/three/f"), status: 0, leaving: ["d"])
        #expect(output.output.count == 100_000 && Pattern.matches(output.output, at: 0))
    }

    @Test("--mirrors: if all fail, the last error is the reason, and under --continue the part stays")
    func allFail() async throws {
        let urls = urls("/one/f", "/none")
        let line = "fetch: \(urls[0]): 404 Not Found (the last of 2 addresses: \(urls[1]))\n"
        try await fetch.run(["--mirrors"] + urls, status: 1, saying: line, leaving: [])
        try await fetch.run(["--mirrors", "--continue"] + urls, status: 1)
        #expect(fetch.isPattern("f.part", 30_000))
    }

    @Test("--mirrors: under --continue, a file that exists is compared with the first mirror that answers")
    func existing() async throws {
        try Data(Pattern.bytes(40_000)).write(to: fetch.file("f"))
        try await fetch.run(
            "--mirrors", "--continue", "-o", "f", url("/none"), url("/three/f"), status: 0, leaving: ["f"])
        #expect(server.requests.map(\.method) == ["HEAD", "HEAD", "GET", "GET"])
        #expect(fetch.isPattern("f", 100_000))
    }

    @Test(
        "O9: a password in a header is sent to no mirror on another host, nor by the question for its length")
    func passwords() async throws {
        let other = FetchProgram(serving: ["/f": .resource(1000, etag: "\"1\"")])
        try fetch.write("beginning", to: "f")
        for options in [[], ["--continue"]] {
            try await fetch.run(
                options + [
                    "--mirrors", "-H", "Authorization: Basic x", "-H", "Cookie: a=b", "-o",
                    options.isEmpty ? "g" : "f",
                    url("/none"), other.server.url("/f"),
                ], status: 0)
        }
        #expect(server.requests.allSatisfy { $0[header: "Authorization"] == "Basic x" })
        #expect(server.requests.map(\.method) == ["GET", "HEAD", "GET"])
        #expect(other.server.requests.map(\.method) == ["GET", "HEAD", "GET"])
        for request in other.server.requests {
            #expect(request[header: "Authorization"] == nil && request[header: "Cookie"] == nil)
        }
    }
}
