import Foundation
import LoopbackServer
import Testing

/// `--netrc`, against servers that ask for a password.
@Suite(.timeLimit(.minutes(5)))
struct NetrcRunTests: ProgramSuite {
    // "me:s3cret"
    let fetch = FetchProgram(serving: [
        "/f": .authenticated(basic: "bWU6czNjcmV0", then: .text("it\n")), "/echo": .echo,
    ])

    private func write(_ text: String, mode: Int = 0o600, to name: String = ".netrc") throws {
        try fetch.write(text, to: name)
        try FileManager.default.setAttributes(
            [.posixPermissions: mode], ofItemAtPath: fetch.file(name).path)
    }

    private func run(
        _ arguments: String..., status: Int32, saying words: String = "",
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) async throws -> FetchProgram.Outcome {
        let outcome = try await fetch.run(
            arguments, environment: ["HOME": fetch.folder.path], status: status, saying: words,
            sourceLocation: sourceLocation)
        #expect(!(outcome.text + outcome.errors).contains("s3cret"), sourceLocation: sourceLocation)
        return outcome
    }

    @Test("--netrc sends what the file has for the host, unless the URL or a header has a password")
    func sending() async throws {
        try write("machine 127.0.0.1 login me password s3cret\n")
        _ = try await run("--netrc", "-q", url("/f"), status: 0)
        #expect(fetch.text("f") == "it\n")
        try write("default login me password s3cret\n", to: "other")
        _ = try await run("--netrc=\(fetch.file("other").path)", "-o", "g", url("/f"), status: 0)
        for arguments in [
            [url("/f").replacing("//", with: "//me:wrong@")], ["-H", "Authorization: Basic eA==", url("/f")],
            [url("/f").replacing("//", with: "//you@")],
        ] {
            let outcome = try await fetch.run(
                ["--netrc=.netrc", "--overwrite"] + arguments, status: 1, saying: "401")
            #expect(!outcome.errors.contains("s3cret"))
        }
        _ = try await run("--netrc", "--overwrite", url("/f").replacing("//", with: "//me@"), status: 0)
    }

    @Test(
        "--netrc: a file that others can read is used, with a warning; one that cannot be read is exit code 2"
    )
    func permissions() async throws {
        try write("machine 127.0.0.1 login me password s3cret\n", mode: 0o644)
        let outcome = try await run("--netrc", "-q", url("/f"), status: 0, saying: "everyone can read")
        #expect(outcome.errorLines.count == 1 && outcome.errors.contains("chmod 600"))
        try write("machine 127.0.0.1 login me\ns3cret", mode: 0o600)
        _ = try await run("--netrc", url("/f"), status: 2, saying: "line 2: not one of machine")
        _ = try await run("--netrc=none", url("/f"), status: 2, saying: "no such file")
        _ = try await run("--netrc=", url("/f"), status: 2, saying: "--netrc= has no value")
        #expect(server.requests.count == 1)
    }

    @Test(
        "--netrc: another host, to which a server redirects, gets what the file has for it, and not the default"
    )
    func redirects() async throws {
        // Another port is another origin.
        let other = FetchProgram(serving: ["/echo": .echo])
        server.route("/away", .redirect(to: other.url("/echo")))
        try write("machine 127.0.0.1 login me password s3cret\n")
        _ = try await run("--netrc", "-o", "named", url("/away"), status: 0)
        #expect(fetch.text("named")?.contains("Authorization: Basic bWU6czNjcmV0\r\n") == true)
        try write("default login me password s3cret\n")
        _ = try await run("--netrc", "-o", "default", url("/away"), status: 0)
        #expect(server.requests.last?[header: "Authorization"] == "Basic bWU6czNjcmV0")
        #expect(fetch.text("default")?.contains("Authorization") == false)
        _ = try await run("-o", "without", url("/away"), "-H", "Authorization: Basic x", status: 0)
        #expect(fetch.text("without")?.contains("Authorization") == false)
    }
}

extension FetchProgram {
    fileprivate func url(_ path: String) -> String { server.url(path) }
}
