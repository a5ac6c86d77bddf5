import Foundation
import LoopbackServer
import TestSupport
import Testing

/// `-o -`, which writes what arrives as it arrives.
@Suite(.watchdog(atOnce: .few))
struct StreamingTests: ProgramSuite {
    let fetch = FetchProgram()

    @Test("-o - writes what has arrived, before the rest has")
    func atOnce() async throws {
        let gate = Gate()
        server.route("/f", .pattern(200_000, heldAfter: 100_000, by: gate))
        // A kept connection, on which a transfer that waits takes no processor time.
        let running = try fetch.start(["-o", "-", url("/f")])
        // The server keeps a few kilobytes back until it waits.
        await running.wait { $0.output.count >= 100_000 }
        gate.open()
        let outcome = await running.outcome
        #expect(outcome.status == 0 && outcome.output.count == 200_000)
        #expect(Pattern.matches(outcome.output, at: 0))
    }

    @Test("-o - with --retry asks for the rest of what has been written, and fails where that has changed")
    func continuing() async throws {
        let broken = Answer.resource(100_000, etag: "\"1\"", breakingOffAfter: 40_000)
        server.route("/same", broken, .resource(100_000, etag: "\"1\""))
        server.route("/other", broken, .resource(100_000, etag: "\"2\""))
        server.route("/unmarked", .resource(100_000, breakingOffAfter: 40_000), .resource(100_000))
        server.route("/later", .status(503), .resource(100_000))
        let same = try await fetch.run("-o", "-", "--retry", "2", url("/same"), status: 0)
        #expect(same.output.count == 100_000 && Pattern.matches(same.output, at: 0))
        #expect(server.requests[1][header: "Range"] == "bytes=40000-")
        #expect(server.requests[1][header: "If-Range"] == "\"1\"")
        for (path, words, requests) in [
            ("/other", "the server no longer has the rest of what was written (40000 bytes)", 4),
            ("/unmarked", "truncated: 40000 of 100000 bytes", 5),
        ] {
            let outcome = try await fetch.run("-o", "-", "--retry", "2", url(path), status: 1, saying: words)
            #expect(outcome.output.count == 40_000 && server.requests.count == requests)
        }
        let later = try await fetch.run("-o", "-", "--retry", "2", url("/later"), status: 0)
        #expect(later.output.count == 100_000)
    }

    @Test("-o - writes nothing of an answer that is refused, nor, with a checksum, of one that is wrong")
    func refused() async throws {
        server.route("/gzip", .gzip([31, 139, 8]))
        server.route("/f", .pattern(1000))
        for arguments in [
            [url("/none")], [url("/gzip")], ["--max-filesize", "999", url("/f")],
            ["--checksum", "sha256=" + String(repeating: "0", count: 64), url("/f")],
        ] {
            let outcome = try await fetch.run(["-o", "-"] + arguments, status: 1)
            #expect(outcome.output.isEmpty, "\(arguments)")
        }
        let sum = "sha256=541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53"
        _ = try await fetch.run(
            "-o", "-", "--input", "-", input: "\(url("/f")) \(sum)\n", status: 1, saying: "wrong checksum")
    }

    @Test("-o - ends where its reader leaves, and not where it has read everything")
    func readerLeaves() async throws {
        server.route("/f", .pattern(100_000))
        server.route("/endless", .endlessDrip(atOnce: 1000, everyMilliseconds: 1))
        // The shell ends with the status of `head`, and what fetch says is among its errors.
        let all = try await fetch.run(
            ["-q", "-o", "-", url("/f")], preparation: "\"$@\" | head -c 100000; exit", status: 0)
        #expect(all.output.count == 100_000 && all.errors.isEmpty, "\(all.errors)")
        let part = try await fetch.run(
            ["-q", "-o", "-", url("/endless")], preparation: "\"$@\" | head -c 5000; exit", status: 0)
        #expect(part.output.count == 5000 && part.errors.contains("closed by its reader"), "\(part.errors)")
    }
}
