import Foundation
import LoopbackServer
import Testing

@testable import fetch

/// `--checksum` from the command line to the destination.
@Suite(.timeLimit(.minutes(5)))
struct ChecksumRunTests {
    let server: LoopbackServer
    let fetch: FetchProgram
    private let right: String
    private let wrong = "sha256=" + String(repeating: "0", count: 64)
    private let mismatch: String

    init() throws {
        server = try LoopbackServer()
        fetch = try FetchProgram()
        server.route("/f", .resource(100_000, etag: "\"v1\"", lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"))
        let sum = Self.sum(Pattern.bytes(100_000))
        right = "sha256=\(sum)"
        mismatch = "wrong checksum: sha256 is \(sum), expected \(String(repeating: "0", count: 64))"
    }

    private static func sum(_ bytes: [UInt8]) -> String {
        var hash = PortableSHA256()
        bytes.withUnsafeBytes { hash.update($0) }
        return Checksum(bytes: hash.finalized()).digits
    }

    @Test("--checksum: a file with the right sum is fetched, in upper case too")
    func rightSum() async throws {
        try await fetch.run("--checksum", right, server.url("/f"), status: 0)
        #expect(fetch.contents("f")?.count == 100_000)
        let upper = "SHA256=" + right.dropFirst(7).uppercased()
        try await fetch.run("--checksum", upper, "-o", "g", server.url("/f"), status: 0)
        #expect(fetch.files() == ["f", "g"])
    }

    @Test(
        "--checksum: with a wrong sum, nothing is left, both sums are named, and it is not retried",
        arguments: [[], ["--continue"], ["--overwrite"], ["--skip-existing"]])
    func wrongSum(options: [String]) async throws {
        let outcome = try await fetch.run(
            options + ["--retry", "2", "--json", "--checksum", wrong, server.url("/f")], status: 1)
        let object = try #require(outcome.objects[server.url("/f")])
        #expect(object["error"] as? String == mismatch)
        #expect(object["attempts"] as? Int == 1)
        #expect(object["file"] is NSNull)
        #expect(outcome.errors.contains("fetch: \(server.url("/f")): \(mismatch)\n"), "\(outcome.errors)")
        #expect(fetch.files().isEmpty, "\(fetch.files())")
    }

    @Test("--checksum: with a wrong sum, nothing is written or replaced, and no mirror wins")
    func wrongSumElsewhere() async throws {
        let output = try await fetch.run("-o", "-", "--checksum", wrong, server.url("/f"), status: 1)
        #expect(output.output.isEmpty)
        #expect(output.errors.contains(mismatch))

        try fetch.write("mine", to: "f")
        try await fetch.run("--overwrite", "--checksum", wrong, server.url("/f"), status: 1)
        #expect(fetch.text("f") == "mine")

        server.route("/bad", .text("something else"))
        let gate = Gate()
        server.route("/good", .held(by: gate, then: .pattern(100_000)))
        let race = try fetch.start(
            ["--first", "-o", "g", "--checksum", right, server.url("/bad"), server.url("/good")])
        await race.waitForErrors(containing: "wrong checksum")
        gate.open()
        let raced = await race.outcome
        #expect(raced.status == 0, "\(raced.errors)")
        #expect(fetch.contents("g")?.count == 100_000)
        #expect(fetch.files() == ["f", "g"])
    }

    @Test("--checksum: a file that is kept is checked too, and stays")
    func kept() async throws {
        try Data(Pattern.bytes(100_000)).write(to: fetch.folder.appendingPathComponent("f"))
        for option in ["--continue", "--skip-existing"] {
            try await fetch.run(option, "--checksum", right, server.url("/f"), status: 0)
            try await fetch.run(option, "--checksum", wrong, server.url("/f"), status: 1, saying: mismatch)
            #expect(fetch.contents("f")?.count == 100_000)
        }
        #expect(server.requests.allSatisfy { $0.method == "HEAD" })
    }
}
