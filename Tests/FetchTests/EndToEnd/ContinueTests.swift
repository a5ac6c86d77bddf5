import Foundation
import LoopbackServer
import Testing

/// `--continue` with a file at the destination that another program left there, whole or not (D13).
@Suite(.timeLimit(.minutes(5)))
struct ContinueTests {
    let server: LoopbackServer
    let fetch: FetchProgram

    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let seconds = 784_111_777.0
    private static let byteCount = 100_000

    init() throws {
        server = try LoopbackServer()
        fetch = try FetchProgram()
        server.route("/f", .resource(Self.byteCount, etag: "\"v1\"", lastModified: Self.date))
    }

    /// Writes the beginning of what the server has, last modified so many seconds after the server's.
    private func leave(_ byteCount: Int, modified seconds: Double = 0, name: String = "f") throws {
        let file = fetch.folder.appendingPathComponent(name)
        try Data(Pattern.bytes(byteCount)).write(to: file)
        let date = Date(timeIntervalSince1970: Self.seconds + seconds)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
    }

    private func expectWhole(_ name: String = "f") throws {
        let contents = try #require(fetch.contents(name))
        #expect(contents.count == Self.byteCount)
        #expect(Pattern.matches(contents, at: 0))
    }

    private var methods: [String] { server.requests.map(\.method) }

    @Test("D13: a file as long as the server's counts as done, and is not transferred again")
    func equal() async throws {
        try leave(Self.byteCount, modified: -1000)
        let outcome = try await fetch.run("--continue", "--json", server.url("/f"), status: 0)
        #expect(methods == ["HEAD"])
        let object = try #require(outcome.objects[server.url("/f")])
        #expect(object["bytes"] as? Int == Self.byteCount)
        #expect(object["status"] as? Int == 200)
        #expect(object["file"] as? String == "f")
        #expect(outcome.errors.contains("0 of 1 fetched, 0 B in "), "\(outcome.errors)")
        #expect(outcome.errors.contains("; 1 there already"), "\(outcome.errors)")
        #expect(fetch.files() == ["f"])
    }

    @Test("D13: a shorter file is resumed if it is not older", arguments: [0.0, 0.5, 1000.0])
    func resumed(age: Double) async throws {
        try leave(30_000, modified: age)
        let outcome = try await fetch.run("--continue", "--json", server.url("/f"), status: 0)
        #expect(methods == ["HEAD", "GET"])
        #expect(server.requests.last?[header: "Range"] == "bytes=30000-")
        #expect(server.requests.last?[header: "If-Range"] == "\"v1\"")
        #expect(outcome.objects[server.url("/f")]?["status"] as? Int == 206)
        #expect(outcome.errors.contains("1 of 1 fetched, 70.0 kB in "), "\(outcome.errors)")
        try expectWhole()
        #expect(fetch.files() == ["f"])
    }

    @Test("D13: a shorter file is fetched anew if the server's is newer, or the server does not say when")
    func startedOver() async throws {
        server.route("/undated", .resource(Self.byteCount, etag: "\"v1\""))
        server.route("/odd", .resource(Self.byteCount, etag: "\"v1\"", lastModified: "yesterday"))
        for (path, age) in [("/f", -0.5), ("/f", -1000), ("/undated", 1000), ("/odd", 1000)] {
            try leave(30_000, modified: age)
            let outcome = try await fetch.run("--continue", "-o", "f", server.url(path), status: 0)
            #expect(server.requests.last?.method == "GET")
            #expect(server.requests.last?[header: "Range"] == nil)
            #expect(outcome.errors.contains("1 of 1 fetched, 100 kB in "), "\(outcome.errors)")
            try expectWhole()
            #expect(fetch.files() == ["f"])
        }
    }

    @Test("D13: a longer file is an error, and stays as it is")
    func longer() async throws {
        try leave(Self.byteCount + 1, modified: 1000)
        let outcome = try await fetch.run("--continue", "--json", server.url("/f"), status: 1)
        #expect(methods == ["HEAD"])
        #expect(
            outcome.objects[server.url("/f")]?["error"] as? String
                == "the file has 100001 bytes, the server's only 100000; choose --overwrite to replace it")
        #expect(fetch.contents("f")?.count == Self.byteCount + 1)
        #expect(fetch.files() == ["f"])
    }

    @Test("D13: without an answer to HEAD, or a length in it, the file is fetched anew")
    func unhelpful() async throws {
        server.route("/no-head") { $0.method == "HEAD" ? .status(405) : .pattern(Self.byteCount) }
        server.route("/chunked") { request in
            request.method == "HEAD"
                ? Answer { try $0.sendHead(200, [("Transfer-Encoding", "chunked")]) }.closingConnection
                : .chunked([Pattern.bytes(Self.byteCount)], headers: [("Last-Modified", Self.date)])
        }
        for path in ["/no-head", "/chunked"] {
            try leave(30_000, modified: 1000)
            try await fetch.run("--continue", "-o", "f", server.url(path), status: 0)
            try expectWhole()
            #expect(fetch.files() == ["f"])
        }
        // Without a length in HEAD, the file may turn out longer than the server's only after the transfer.
        server.route("/chunked") { request in
            request.method == "HEAD" ? .status(405) : .chunked([Pattern.bytes(20_000)])
        }
        try leave(30_000)
        try await fetch.run(
            "--continue", "-o", "f", server.url("/chunked"), status: 1,
            saying: "has 30000 bytes, the server's only 20000")
        #expect(fetch.contents("f")?.count == 30_000)
        #expect(fetch.files() == ["f"])
        try await fetch.run("--continue", "-o", "f", server.url("/gone"), status: 1, saying: "404 Not Found")
        #expect(fetch.contents("f")?.count == 30_000)
        #expect(fetch.files() == ["f"])
    }

    @Test("D13: a file that changes between HEAD and GET is fetched anew")
    func changed() async throws {
        let old = Answer.resource(Self.byteCount, etag: "\"v1\"", lastModified: Self.date)
        let new = Answer.resource(40_000, etag: "\"v2\"", lastModified: Self.date)
        server.route("/f") { $0.method == "HEAD" ? old : new }
        try leave(30_000)
        try await fetch.run("--continue", server.url("/f"), status: 0)
        #expect(server.requests.last?[header: "If-Range"] == "\"v1\"")
        #expect(fetch.contents("f").map { $0.count == 40_000 && Pattern.matches($0, at: 0) } == true)
    }

    @Test("D13: a body of unknown length that is shorter than HEAD announced replaces nothing")
    func shortened() async throws {
        let whole = Answer.resource(Self.byteCount)
        server.route("/f") { $0.method == "HEAD" ? whole : .untilClose(Pattern.bytes(40_000)) }
        try leave(30_000)
        try await fetch.run(
            "--continue", server.url("/f"), status: 1, saying: "truncated: 40000 of 100000 bytes")
        #expect(fetch.contents("f")?.count == 30_000)
        #expect(fetch.files() == ["f"])
    }

    @Test("D13: if the rest breaks off, the file stays, and the next run resumes the part file")
    func brokenOff() async throws {
        let whole = Answer.resource(Self.byteCount, etag: "\"v1\"", lastModified: Self.date)
        server.route(
            "/f", whole,
            .resource(Self.byteCount, etag: "\"v1\"", lastModified: Self.date, breakingOffAfter: 20_000),
            whole)
        try leave(30_000)
        try await fetch.run("--continue", server.url("/f"), status: 1)
        #expect(fetch.contents("f")?.count == 30_000)
        #expect(fetch.contents("f.part")?.count == 50_000)
        try await fetch.run("--continue", server.url("/f"), status: 0)
        #expect(server.requests.last?[header: "Range"] == "bytes=50000-")
        try expectWhole()
        #expect(fetch.files() == ["f"])
    }

    @Test("D13: if HEAD fails, the file stays as it is, and HEAD is repeated under --retry")
    func unasked() async throws {
        try leave(30_000)
        try await fetch.run("--continue", "-o", "f", "http://127.0.0.1:1/f", status: 1)
        #expect(fetch.contents("f")?.count == 30_000)
        server.route(
            "/busy", .status(503), .resource(Self.byteCount, etag: "\"v1\"", lastModified: Self.date))
        try await fetch.run("--continue", "--retry", "1", "-o", "f", server.url("/busy"), status: 0)
        #expect(methods == ["HEAD", "HEAD", "GET"])
        try expectWhole()
    }

    @Test("D13: through a symbolic link, the file that it leads to is continued, and the link stays")
    func link() async throws {
        try FileManager.default.createDirectory(
            at: fetch.folder.appendingPathComponent("sub"), withIntermediateDirectories: false)
        try leave(30_000, name: "sub/target")
        try FileManager.default.createSymbolicLink(
            atPath: fetch.folder.appendingPathComponent("f").path, withDestinationPath: "sub/target")
        try await fetch.run("--continue", server.url("/f"), status: 0)
        #expect(server.requests.last?[header: "Range"] == "bytes=30000-")
        try expectWhole("sub/target")
        #expect(fetch.files() == ["f", "sub"] && fetch.files("sub") == ["target"])
        try expectWhole()
    }

    @Test("D13: a symbolic link that leads nowhere cannot be continued, and stays")
    func danglingLink() async throws {
        try FileManager.default.createSymbolicLink(
            atPath: fetch.folder.appendingPathComponent("f").path, withDestinationPath: "nowhere")
        try await fetch.run(
            "--continue", server.url("/f"), status: 1,
            saying: "cannot be written: it is a symbolic link that leads nowhere")
        #expect(fetch.files() == ["f"] && server.requests.isEmpty)
    }

    @Test("D13: an empty file, and an empty file of the server, need no range")
    func empty() async throws {
        try leave(0, modified: 1000)
        try await fetch.run("--continue", server.url("/f"), status: 0)
        #expect(server.requests.last?[header: "Range"] == nil)
        try expectWhole()
        server.route("/e", .resource(0, etag: "\"v1\"", lastModified: Self.date))
        try leave(0, name: "e")
        try await fetch.run("--continue", server.url("/e"), status: 0)
        #expect(server.requests.last?.method == "HEAD")
        try await fetch.run("--continue", "-o", "f", server.url("/e"), status: 1)
    }

    @Test("D13: with a Range header of the user's, the file is not compared")
    func ownRange() async throws {
        try leave(100)
        let outcome = try await fetch.run("--continue", "-H", "Range: bytes=0-99", server.url("/f"))
        #expect(server.requests.last?.method == "GET")
        #expect(server.requests.last?[header: "Range"] == "bytes=0-99")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(fetch.contents("f")?.count == 100)
    }
}
