import Foundation
import LoopbackServer
import TestSupport
import Testing

/// `--newer`, which people know as `wget -N` and `curl -z`.
@Suite(.watchdog(atOnce: .few))
struct NewerTests: ProgramSuite {
    private static let (old, new) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Mon, 07 Nov 1994 08:49:37 GMT")
    let fetch = FetchProgram()

    private func modified(_ name: String) throws -> Date? {
        try FileManager.default.attributesOfItem(atPath: fetch.file(name).path)[.modificationDate] as? Date
    }

    @Test("--newer fetches what is not there, gives it the server's date, and then only what is newer")
    func newer() async throws {
        server.route("/f", .resource(1000, lastModified: Self.old))
        try await fetch.run("--newer", url("/f"), status: 0, leaving: ["f"])
        #expect(try modified("f") == Date(timeIntervalSince1970: 784_111_777))
        let same = try await fetch.run("--newer", "--json", url("/f"), status: 0, leaving: ["f"])
        #expect(same.objects[url("/f")]?.status == 304 && same.errors.contains("f: there already"))
        #expect(server.requests[1][header: "If-Modified-Since"] == Self.old)
        server.route("/f", .resource(2000, lastModified: Self.new))
        try await fetch.run("--newer", url("/f"), status: 0, leaving: ["f"])
        #expect(fetch.isPattern("f", 2000))
        #expect(try modified("f") == Date(timeIntervalSince1970: 784_111_777 + 86_400))
    }

    @Test("--newer compares the dates itself where the server does not, and the lengths")
    func comparing() async throws {
        // As a server that compares dates for equality.
        server.route("/f", .pattern(1000, headers: [("Last-Modified", Self.old)]))
        try fetch.write(String(repeating: "x", count: 1000), to: "f")
        let kept = try await fetch.run("--newer", "--json", url("/f"), status: 0, leaving: ["f"])
        #expect(kept.objects[url("/f")]?.status == 200 && kept.objects[url("/f")]?.bytes == 1000)
        #expect(fetch.text("f")?.first == "x")
        try fetch.write("half", to: "f")
        try await fetch.run("--newer", url("/f"), status: 0, leaving: ["f"])
        #expect(fetch.isPattern("f", 1000))
        // Without a date, what is sent is taken.
        server.route("/f", .text("undated\n"))
        try await fetch.run("--newer", url("/f"), status: 0, leaving: ["f"])
        #expect(fetch.text("f") == "undated\n")
        try await fetch.run("--newer", url("/none"), "-o", "f", status: 1, leaving: ["f"])
        #expect(fetch.text("f") == "undated\n")
    }
}
