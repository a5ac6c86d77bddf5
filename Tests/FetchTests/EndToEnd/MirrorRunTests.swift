import Foundation
import LoopbackServer
import Testing

/// `--mirrors`: several addresses of one file, which continue each other.
@Suite(.timeLimit(.minutes(5)))
struct MirrorRunTests {
    let server: LoopbackServer
    let fetch: FetchProgram

    init() throws {
        server = try LoopbackServer()
        fetch = try FetchProgram()
        server.route("/one/f", .resource(100_000, etag: "\"1\"", breakingOffAfter: 30_000))
        server.route("/two/f", .resource(100_000, etag: "\"2\"", breakingOffAfter: 50_000))
        server.route("/three/f", .resource(100_000, etag: "\"3\""))
    }

    private func expectWhole(_ name: String) {
        #expect(
            fetch.contents(name).map { $0.count == 100_000 && Pattern.matches($0, at: 0) } == true, "\(name)")
    }

    @Test("--mirrors: each mirror continues where the one before it broke off, and one file is left")
    func continued() async throws {
        let urls = ["/one/f", "/two/f", "/three/f"].map { server.url($0) }
        let outcome = try await fetch.run(["--mirrors", "--json"] + urls, status: 0)
        #expect(server.requests.map { $0[header: "Range"] } == [nil, "bytes=30000-", "bytes=80000-"])
        #expect(fetch.files() == ["f"])
        expectWhole("f")
        #expect(outcome.objects.count == 1)
        #expect(outcome.objects[urls[0]]?["file"] as? String == "f")
        #expect(outcome.objects[urls[0]]?["bytes"] as? Int == 100_000)
        #expect(outcome.errors.contains("1 of 1 fetched, 100 kB in "), "\(outcome.errors)")
    }

    @Test("--mirrors: to a file, to standard output, with a malformed address among them")
    func destinations() async throws {
        try await fetch.run(
            "--mirrors", "-d", "d", "-o", "g", "nonsense", server.url("/none"), server.url("/three/f"),
            status: 0, saying: "fetch: nonsense: not a URL: ")
        expectWhole("d/g")
        let output = try await fetch.run(
            "--mirrors", "-o", "-", server.url("/one/f"), server.url("/three/f"), status: 0)
        #expect(output.output.count == 100_000 && Pattern.matches(output.output, at: 0))
        #expect(fetch.files() == ["d"])
    }

    @Test("--mirrors: if all fail, the last error is the reason, and under --continue the part stays")
    func allFail() async throws {
        let urls = ["/one/f", "/none"].map { server.url($0) }
        let failed = try await fetch.run(["--mirrors"] + urls, status: 1)
        let line = "fetch: \(urls[0]): 404 Not Found (the last of 2 addresses: \(urls[1]))\n"
        #expect(failed.errors.contains(line), "\(failed.errors)")
        #expect(fetch.files().isEmpty)
        try await fetch.run(["--mirrors", "--continue"] + urls, status: 1)
        #expect(fetch.contents("f.part")?.count == 30_000)
    }

    @Test("--mirrors: under --continue, a file that exists is compared with the first mirror that answers")
    func existing() async throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        server.route("/dated/f", .resource(100_000, etag: "\"4\"", lastModified: date))
        try Data(Pattern.bytes(40_000)).write(to: fetch.folder.appendingPathComponent("f"))
        try await fetch.run(
            "--mirrors", "--continue", "-o", "f", server.url("/none"), server.url("/dated/f"), status: 0)
        #expect(server.requests.map(\.method) == ["HEAD", "HEAD", "GET", "GET"])
        expectWhole("f")
        #expect(fetch.files() == ["f"])
    }
}
