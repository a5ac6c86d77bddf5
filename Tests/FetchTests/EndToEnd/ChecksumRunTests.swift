import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import fetch

/// `--checksum` from the command line to the destination.
@Suite(.watchdog(atOnce: .few))
struct ChecksumRunTests: ProgramSuite {
    let fetch = FetchProgram(serving: [
        "/f": .resource(100_000, etag: "\"v1\"", lastModified: "Sun, 06 Nov 1994 08:49:37 GMT")
    ])
    private let sum: String
    private var right: String { "sha256=\(sum)" }
    private let zeros = String(repeating: "0", count: 64)
    private var wrong: String { "sha256=\(zeros)" }
    private var mismatch: String { "wrong checksum: sha256 is \(sum), expected \(zeros)" }

    init() {
        var hash = PortableSHA256()
        Pattern.bytes(100_000).withUnsafeBytes { hash.update($0) }
        sum = Checksum(bytes: hash.finalized()).digits
    }

    @Test(
        "--checksum: with a wrong sum, nothing is left, both sums are named, and it is not retried",
        arguments: [[], ["--continue"], ["--overwrite"], ["--skip-existing"]])
    func wrongSum(options: [String]) async throws {
        let outcome = try await fetch.run(
            options + ["--retry", "2", "--json", "--checksum", wrong, url("/f")], status: 1,
            saying: "fetch: \(url("/f")): \(mismatch)\n", leaving: [])
        let object = try #require(outcome.objects[url("/f")])
        #expect(object.error == mismatch && object.attempts == 1 && object.file == nil)
    }

    @Test("--input: each line may have a checksum, which the file of that line must have")
    func lines() async throws {
        server.route("/plain", .text("plain"))
        let list = ["\(url("/f")) \(right)", url("/plain"), "\(url("/plain"))  \(wrong)"].joined(
            separator: "\n")
        let outcome = try await fetch.run(
            ["--input", "-", "--json", "-j", "1"], input: list, status: 1, saying: "wrong checksum",
            leaving: ["f", "plain"])
        #expect(outcome.errorLines.count == 4 && fetch.text("plain") == "plain")
        let requests = server.requests.count
        for (line, words) in [
            ("\(url("/f")) sha256=\(sum)0", "line 1 of '-' for --input: 'sha256=\(sum)0' is not a checksum"),
            (
                "\(url("/f")) \(right)\n\(url("/f")) \(wrong)",
                "two checksums in --input contradict each other"
            ),
        ] {
            try await fetch.run("--mirrors", "--input", "-", input: line, status: 2, saying: words)
        }
        try await fetch.run(
            "--checksum", wrong, "--input", "-", input: "\(url("/f")) \(right)", status: 2,
            saying: "--checksum and the checksum in --input contradict")
        #expect(server.requests.count == requests)
        try await fetch.run(
            "--mirrors", "-o", "g", "--input", "-", input: "\(url("/none"))\n\(url("/f")) \(right)\n",
            status: 0)
    }

    @Test("--checksum: with a wrong sum, nothing is written or replaced, and no mirror wins")
    func wrongSumElsewhere() async throws {
        let output = try await fetch.run(
            "-o", "-", "--checksum", wrong, url("/f"), status: 1, saying: mismatch)
        #expect(output.output.isEmpty)
        try fetch.write("mine", to: "f")
        try await fetch.run("--overwrite", "--checksum", wrong, url("/f"), status: 1)
        #expect(fetch.text("f") == "mine")

        server.route("/bad", .text("something else"))
        let gate = Gate()
        server.route("/good", .held(by: gate, then: .pattern(100_000)))
        // In upper case, too.
        let upper = "SHA256=\(sum.uppercased())"
        let race = try fetch.start(["--first", "-o", "g", "--checksum", upper] + urls("/bad", "/good"))
        await race.waitForErrors(containing: "wrong checksum")
        gate.open()
        let raced = await race.outcome
        #expect(raced.status == 0 && fetch.isPattern("g", 100_000), "\(raced.errors)")
        #expect(fetch.files() == ["f", "g"])
    }

    @Test("--checksum: a file that is kept is checked too, and stays")
    func kept() async throws {
        try await fetch.run("--checksum", right, url("/f"), status: 0, leaving: ["f"])
        for option in ["--continue", "--skip-existing"] {
            try await fetch.run(option, "--checksum", right, url("/f"), status: 0)
            try await fetch.run(option, "--checksum", wrong, url("/f"), status: 1, saying: mismatch)
            #expect(fetch.isPattern("f", 100_000))
        }
        #expect(server.requests.dropFirst().allSatisfy { $0.method == "HEAD" })
    }
}
