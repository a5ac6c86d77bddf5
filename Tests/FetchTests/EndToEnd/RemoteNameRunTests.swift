import Foundation
import LoopbackServer
import TestSupport
import Testing

/// `--remote-name` on a server that names its files.
@Suite(.watchdog(atOnce: .few))
struct RemoteNameRunTests: ProgramSuite {
    private static func named(_ name: String, _ text: String = "it\n") -> Answer {
        .text(text, headers: [("Content-Disposition", "attachment; filename=\"\(name)\"")])
    }

    let fetch = FetchProgram(serving: [
        "/1": named("a.txt"), "/2": named("a.txt"), "/plain.txt": .text("plain\n"), "/up": named("../up.txt"),
        "/utf": .text(
            "€\n", headers: [("Content-Disposition", "attachment; filename*=UTF-8''%e2%82%ac.txt")]),
        "/moved": .redirect(to: "/1"),
    ])

    @Test("--remote-name: the server names the file, the URL where it does not, and no two are the same")
    func names() async throws {
        let outcome = try await fetch.run(
            ["--remote-name", "-j", "1", "--json"] + urls("/1", "/2", "/plain.txt", "/utf", "/up"), status: 0,
            leaving: ["a.txt", "a.txt.1", "plain.txt", "up.txt", "€.txt"])
        #expect(outcome.objects[url("/2")]?.file == "a.txt.1" && outcome.errors.contains("up.txt: 3 B in"))
        try await fetch.run(["--remote-name", "-d", "new", url("/moved")], status: 0)
        #expect(fetch.files("new") == ["a.txt"])
    }

    @Test("--remote-name: a file that exists stays, unless an option says so; it is noticed before the body")
    func existing() async throws {
        try fetch.write("mine", to: "a.txt")
        let answer = Answer { exchange in
            try exchange.sendHead(
                200, [("Content-Disposition", "attachment; filename=a.txt")], contentLength: 1_000_000_000)
            try exchange.sendPattern(0..<100_000)
            try exchange.hangUp()
        }
        server.route("/large", answer)
        let large = url("/large")
        try await fetch.run(
            "--remote-name", large, status: 1,
            saying: "fetch: \(large): 'a.txt' exists; choose --overwrite or --skip-existing\n",
            leaving: ["a.txt"])
        let skipped = try await fetch.run("--remote-name", "--skip-existing", "--json", large, status: 0)
        #expect(skipped.objects[large]?.file == "a.txt" && fetch.text("a.txt") == "mine")
        try await fetch.run("--remote-name", "--overwrite", large, status: 1, leaving: ["a.txt"])
        #expect(fetch.text("a.txt") == "mine")
        try await fetch.run("--remote-name", "--overwrite", url("/1"), status: 0, leaving: ["a.txt"])
        #expect(fetch.text("a.txt") == "it\n")
        try FileManager.default.removeItem(at: fetch.file("a.txt"))
        try fetch.makeFolder("a.txt")
        try await fetch.run("--remote-name", "--overwrite", url("/1"), status: 1, saying: "it is a directory")
    }

    @Test("--remote-name: a further attempt has the same name, and mirrors have one")
    func attempts() async throws {
        server.route(
            "/broken",
            Answer { exchange in
                try exchange.sendHead(
                    200, [("Content-Disposition", "attachment; filename=b.txt")], contentLength: 10)
                try exchange.sendPattern(0..<5)
                try exchange.hangUp()
            }, Self.named("b.txt"))
        try await fetch.run("--remote-name", "--retry", "1", url("/broken"), status: 0, leaving: ["b.txt"])
        try await fetch.run(
            ["--remote-name", "--first"] + urls("/1", "/2"), status: 0, leaving: ["a.txt", "b.txt"])
        try await fetch.run(
            ["--remote-name", "--mirrors", "-d", "m"] + urls("/none", "/2"), status: 0,
            leaving: ["a.txt", "b.txt", "m"])
        #expect(fetch.files("m") == ["a.txt"])
    }
}
