import Foundation
import LoopbackServer
import Testing

/// `--continue` with a file at the destination that another program left there, whole or not (D13).
@Suite(.timeLimit(.minutes(5)))
struct ContinueTests: ProgramSuite {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let length = 100_000
    private static let whole = Answer.resource(length, etag: "\"v1\"", lastModified: date)
    private static let rest = "GET bytes=30000- \"v1\""

    let fetch = FetchProgram(serving: ["/f": whole])

    /// Writes the beginning of what the server has, last modified so many seconds after the server's.
    private func leave(_ byteCount: Int, modified seconds: Double = 0, name: String = "f") throws {
        try Data(Pattern.bytes(byteCount)).write(to: fetch.file(name))
        let date = Date(timeIntervalSince1970: 784_111_777 + seconds)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: fetch.file(name).path)
    }

    /// What a run finds, and what comes of it.
    struct Case: Sendable, CustomStringConvertible {
        let description: String
        var (left, modified) = (30_000, 0.0)
        var options: [String] = []
        var (head, get) = (whole, whole)
        let requests: [String]
        var (status, words) = (Int32(0), "")
        var (code, after): (Int?, Int) = (200, length)

        init(_ rule: String, _ requests: String..., change: (inout Case) -> Void = { _ in }) {
            (description, self.requests) = (rule, requests)
            change(&self)
        }
    }

    private static let cases: [Case] =
        [
            Case("a file as long as the server's counts as done", "HEAD") {
                ($0.left, $0.modified, $0.words) = (length, -1000, "0 of 1 fetched, 0 B in ")
            },
            Case("a longer file is an error", "HEAD") {
                ($0.left, $0.modified, $0.after) = (length + 1, 1000, length + 1)
                $0.status = 1
                $0.words =
                    "the file has 100001 bytes, the server's only 100000; choose --overwrite to replace it"
            },
            Case("without a length in the answer to HEAD, too", "HEAD", "GET") {
                $0.head =
                    Answer { try $0.sendHead(200, [("Transfer-Encoding", "chunked")]) }.closingConnection
                $0.get = .chunked([Pattern.bytes(length)], headers: [("Last-Modified", date)])
            },
            Case("without one, a file may turn out longer after the transfer", "HEAD", "GET") {
                ($0.head, $0.get) = (.status(405), .chunked([Pattern.bytes(20_000)]))
                ($0.after, $0.status, $0.words) = (30_000, 1, "has 30000 bytes, the server's only 20000")
            },
            Case("a resource that is gone is an error", "HEAD", "GET") {
                ($0.head, $0.get, $0.after, $0.status) = (.status(404), .status(404), 30_000, 1)
                ($0.code, $0.words) = (404, "404 Not Found")
            },
            Case("a file that changes between HEAD and GET is fetched anew", "HEAD", rest) {
                ($0.get, $0.after) = (.resource(40_000, etag: "\"v2\"", lastModified: date), 40_000)
            },
            Case("a body that is shorter than HEAD announced replaces nothing", "HEAD", "GET") {
                ($0.head, $0.get) = (.resource(length), .untilClose(Pattern.bytes(40_000)))
                ($0.after, $0.status, $0.words) = (30_000, 1, "truncated: 40000 of 100000 bytes")
            },
            Case("an empty file needs no range", "HEAD", "GET") { ($0.left, $0.modified) = (0, 1000) },
            Case("an empty file of the server is equal to an empty one", "HEAD") {
                ($0.head, $0.left, $0.after) = (.resource(0, etag: "\"v1\"", lastModified: date), 0, 0)
            },
            Case("an empty file of the server is shorter than another", "HEAD") {
                ($0.head, $0.after) = (.resource(0, etag: "\"v1\"", lastModified: date), 30_000)
                $0.status = 1
            },
            Case("with a Range header of the user's, the file is not compared", "GET bytes=0-99") {
                ($0.options, $0.left, $0.after, $0.code) = (["-H", "Range: bytes=0-99"], 100, 100, 206)
            },
        ]
        + [405, 500, 501].map { status in
            Case("without an answer to HEAD, the file is fetched anew: \(status)", "HEAD", "GET") {
                $0.head = .status(status)
            }
        }
        + [0, 0.5, 1000].map { seconds in
            Case("a shorter file is resumed if it is not older: \(seconds) s", "HEAD", rest) {
                ($0.modified, $0.code, $0.words) = (seconds, 206, "1 of 1 fetched, 70.0 kB in ")
            }
        }
        + [
            (-0.5, whole), (-1000, whole), (1000, .resource(length, etag: "\"v1\"")),
            (1000, .resource(length, etag: "\"v1\"", lastModified: "yesterday")),
        ].map { seconds, answer in
            Case("one that is older, or of unknown age, is fetched anew: \(seconds) s", "HEAD", "GET") {
                ($0.modified, $0.head, $0.get) = (seconds, answer, answer)
                $0.words = "1 of 1 fetched, 100 kB in "
            }
        }

    @Test("D13: an existing file is continued, kept, replaced or refused", arguments: cases)
    func existing(_ row: Case) async throws {
        try leave(row.left, modified: row.modified)
        server.route("/f") { $0.method == "HEAD" ? row.head : row.get }
        let outcome = try await fetch.run(
            ["--continue", "--json"] + row.options + [url("/f")], status: row.status, saying: row.words,
            leaving: ["f"])
        let requests = server.requests.map { request in
            let headers = [request[header: "Range"], request[header: "If-Range"]]
            return ([request.method] + headers.compactMap(\.self)).joined(separator: " ")
        }
        #expect(requests == row.requests)
        #expect(outcome.objects[url("/f")]?.status == row.code)
        #expect(fetch.isPattern("f", row.after), "\(fetch.contents("f")?.count ?? -1)")
    }

    @Test("D13: if the rest breaks off, the file stays, and the next run resumes the part file")
    func brokenOff() async throws {
        let breaking = Answer.resource(
            Self.length, etag: "\"v1\"", lastModified: Self.date, breakingOffAfter: 20_000)
        server.route("/f", Self.whole, breaking, Self.whole)
        try leave(30_000)
        try await fetch.run("--continue", url("/f"), status: 1)
        #expect(fetch.isPattern("f", 30_000) && fetch.isPattern("f.part", 50_000))
        try await fetch.run("--continue", url("/f"), status: 0, leaving: ["f"])
        #expect(server.requests.last?[header: "Range"] == "bytes=50000-" && fetch.isPattern("f", Self.length))
    }

    @Test("D13: if HEAD fails, the file stays as it is, and HEAD is repeated under --retry")
    func unasked() async throws {
        try leave(30_000)
        try await fetch.run("--continue", "-o", "f", "http://127.0.0.1:1/f", status: 1)
        #expect(fetch.isPattern("f", 30_000))
        server.route("/f", .status(503), Self.whole)
        try await fetch.run("--continue", "--retry", "1", url("/f"), status: 0)
        #expect(
            server.requests.map(\.method) == ["HEAD", "HEAD", "GET"] && fetch.isPattern("f", Self.length))
    }

    @Test("D13: a symbolic link stays: what it leads to is continued, and one to nowhere is refused")
    func link() async throws {
        try fetch.makeFolder("sub")
        try fetch.link("f", to: "sub/target")
        try await fetch.run(
            "--continue", url("/f"), status: 1,
            saying: "cannot be written: it is a symbolic link that leads nowhere",
            leaving: ["f", "sub"])
        #expect(server.requests.isEmpty && fetch.files("sub").isEmpty)
        try leave(30_000, name: "sub/target")
        try await fetch.run("--continue", url("/f"), status: 0, leaving: ["f", "sub"])
        #expect(server.requests.last?[header: "Range"] == "bytes=30000-")
        #expect(fetch.isPattern("sub/target", Self.length) && fetch.files("sub") == ["target"])
        #expect(
            try FileManager.default.destinationOfSymbolicLink(atPath: fetch.file("f").path) == "sub/target")
    }
}

/// What `--continue` says where it keeps nothing.
@Suite(.timeLimit(.minutes(5)))
struct NothingKeptTests: ProgramSuite {
    let fetch = FetchProgram()

    @Test("--continue says once why nothing is kept, and not where something is, or is complete")
    func said() async throws {
        for name in ["a", "b"] { server.route("/\(name)", .truncated(after: 400, of: 1000)) }
        server.route("/kept", .resource(1000, etag: "\"1\"", breakingOffAfter: 400))
        server.route("/whole", .text("whole"))
        let outcome = try await fetch.run(
            ["--continue", "-j", "1"] + urls("/whole", "/kept", "/a", "/b"), status: 1,
            leaving: ["kept.part", "kept.part.from", "whole"])
        let words =
            "nothing is kept for --continue, as the server sends neither a strong ETag nor a Last-Modified"
        #expect(
            outcome.errorLines.filter { $0.contains("nothing is kept") } == ["fetch: \(url("/a")): \(words)"])
        let without = try await fetch.run(url("/a"), status: 1)
        #expect(!without.errors.contains("kept"))
    }
}

/// `--continue` under another address: links that are signed for a time expire, and are signed again.
@Suite(.timeLimit(.minutes(5)))
struct NewAddressTests: ProgramSuite {
    let fetch = FetchProgram()

    /// Leaves a part file of 40,000 bytes of 100,000.
    private func leavePart(_ etag: String? = "\"1\"", _ date: String? = nil) async throws {
        server.route(
            "/f", .resource(100_000, etag: etag, lastModified: date, breakingOffAfter: 40_000))
        try await fetch.run("--continue", "-o", "f", url("/f?expires=1"), status: 1)
    }

    /// Runs it again with another address, and returns the ranges that were asked for.
    private func next(_ address: String) async throws -> [String?] {
        let before = server.requests.count
        try await fetch.run("--continue", "-o", "f", address, status: 0, leaving: ["f"])
        return server.requests.dropFirst(before).map { $0[header: "Range"] }
    }

    @Test("--continue: the same path with another query or host is resumed, if a strong tag is confirmed")
    func resumed() async throws {
        try await leavePart()
        server.route("/f", .status(403))
        try await fetch.run("--continue", "-o", "f", url("/f?expires=2"), status: 1)
        #expect(fetch.files() == ["f.part", "f.part.from"])
        server.route("/f", .resource(100_000, etag: "\"1\""))
        let other = url("/f?expires=3").replacing("127.0.0.1", with: "127.1")
        #expect(try await next(other) == ["bytes=40000-"])
        #expect(fetch.isPattern("f", 100_000))
    }

    @Test("--continue: another path, another tag, none, or another length is fetched as a whole")
    func startedOver() async throws {
        let cases: [(left: (String?, String?), path: String, answer: Answer, asked: [String?])] = [
            (("\"1\"", nil), "/g?expires=1", .resource(100_000, etag: "\"1\""), [nil]),
            (("\"1\"", nil), "/f?expires=2", .resource(100_000, etag: "\"2\""), ["bytes=40000-"]),
            (("W/\"1\"", "Sun, 06 Nov 1994 08:49:37 GMT"), "/f?expires=2", .resource(100_000), [nil]),
            ((nil, "Sun, 06 Nov 1994 08:49:37 GMT"), "/f?expires=2", .resource(100_000), [nil]),
            // A server that ignores If-Range.
            (("\"1\"", nil), "/f?expires=2", .resource(100_000), ["bytes=40000-"]),
            (("\"1\"", nil), "/f?expires=2", part(of: 90_000), ["bytes=40000-", nil]),
            (("\"1\"", nil), "/f?expires=2", part(of: 100_000, tag: nil), ["bytes=40000-", nil]),
        ]
        for (left, path, answer, asked) in cases {
            try await leavePart(left.0, left.1)
            server.route(String(path.prefix(2)), answer)
            #expect(try await next(url(path)) == asked)
            #expect(fetch.contents("f")?.first == Pattern.bytes(1)[0])
            try FileManager.default.removeItem(at: fetch.file("f"))
        }
    }

    /// Answers a range with a part, whatever its condition, and else with the whole.
    private func part(of total: Int, tag: String? = "\"1\"") -> Answer {
        Answer { exchange in
            let headers = tag.map { [("ETag", $0)] } ?? []
            let isPart = exchange.request[header: "Range"] != nil
            let range = isPart ? [("Content-Range", "bytes 40000-\(total - 1)/\(total)")] : []
            let start = isPart ? 40_000 : 0
            try exchange.sendHead(isPart ? 206 : 200, headers + range, contentLength: total - start)
            try exchange.sendPattern(start..<total)
        }
    }
}
