import Foundation
import LoopbackServer
import Testing

/// Files, pipes, devices and links at the destination, and special names.
@Suite(.timeLimit(.minutes(5)))
struct DestinationTests {
    let server: LoopbackServer
    let fetch: FetchProgram

    init() throws {
        server = try LoopbackServer()
        fetch = try FetchProgram()
        server.route("/a.txt", .text("first\n"))
    }

    private func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: fetch.folder.appendingPathComponent(name).path, withDestinationPath: target)
    }

    private func kind(_ name: String) -> mode_t {
        var status = stat()
        let path = fetch.folder.appendingPathComponent(name).path
        return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : 0
    }

    @Test("A name that begins with '~' is not a home folder, in URLs and in options")
    func tilde() async throws {
        let names = ["~", "~daemon", "~root"]
        for name in names { server.route("/\(name)", .text("of \(name)\n")) }
        let urls = names.map { server.url("/\($0)") }
        // The home folder that "~" must not be replaced by.
        let home = fetch.folder.appendingPathComponent("home")
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: false)
        let environment = ["HOME": home.path]
        try await fetch.run(urls, environment: environment, status: 0)
        #expect(fetch.files() == ["home"] + names)
        for name in names { #expect(fetch.text(name) == "of \(name)\n") }
        try await fetch.run([urls[0]], environment: environment, status: 1)

        try fetch.write(server.url("/a.txt"), to: "~list")
        try await fetch.run(
            ["--input", "~list", "-d", "~d/~", "--waterfall", "~w.svg", "--trace", "~t.json"],
            environment: environment, status: 0)
        #expect(fetch.files("~d/~") == ["a.txt"])
        try await fetch.run(["-o", "~o", server.url("/a.txt")], environment: environment, status: 0)
        try await fetch.run(
            ["--first", "-o", "~f", server.url("/a.txt")], environment: environment, status: 0)
        #expect(
            fetch.files() == ["home"] + (names + ["~d", "~f", "~list", "~o", "~t.json", "~w.svg"]).sorted())
        // Foundation creates hidden folders of its own there.
        #expect(fetch.files("home").allSatisfy { $0.hasPrefix(".") })
    }

    @Test(
        "A pipe is written to like standard output, and stays a pipe",
        arguments: [[], ["--overwrite"], ["--skip-existing"], ["--first"]])
    func pipe(options: [String]) async throws {
        try #require(mkfifo(fetch.folder.appendingPathComponent("pipe").path, 0o600) == 0)
        try link("link", to: "pipe")
        for name in ["pipe", "link"] {
            let program = try fetch.start(options + ["-o", name, server.url("/a.txt")])
            // The program waits for a reader. This one waits for nothing: not for a program that has failed.
            let reader = open(fetch.folder.appendingPathComponent("pipe").path, O_RDWR | O_NONBLOCK)
            try #require(reader >= 0)
            defer { close(reader) }
            let outcome = await program.outcome
            #expect(outcome.status == 0, "\(outcome.errors)")
            var bytes = [UInt8](repeating: 0, count: 100)
            let count = read(reader, &bytes, bytes.count)
            #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self) == "first\n")
        }
        #expect(kind("pipe") == S_IFIFO && kind("link") == S_IFLNK)
        #expect(fetch.files() == ["link", "pipe"])
    }

    @Test("Ctrl-C ends the wait for the reader of a named pipe")
    func interruptedPipe() async throws {
        try #require(mkfifo(fetch.folder.appendingPathComponent("pipe").path, 0o600) == 0)
        let program = try fetch.start(["-o", "pipe", server.url("/a.txt")])
        await server.waitForRequests(seen: 1)
        await server.waitUntilIdle()
        program.send(SIGINT)
        #expect(await program.outcome.status == 130)
    }

    #if os(Linux)
    // Creating a device takes rights that most test runs do not have.
    @Test("A device is written to and stays, for -o, the waterfall and the trace")
    func device() async throws {
        let path = fetch.folder.appendingPathComponent("null").path
        guard mknod(path, S_IFCHR | 0o666, dev_t(0x103)) == 0 else { return }
        for options in [["-o", "null"], ["--overwrite", "-o", "null"], ["-d", "d", "--waterfall", "null"]] {
            let outcome = try await fetch.run(options + [server.url("/a.txt")])
            // Without the right to open the device, that is an error, and the device stays as well.
            #expect(outcome.status == 0 || outcome.errors.contains("ermission denied"), "\(outcome.errors)")
            #expect(kind("null") == S_IFCHR)
        }
        // A name from a URL never names a device.
        server.route("/null", .text("x"))
        try await fetch.run("--overwrite", server.url("/null"), status: 1)
        #expect(kind("null") == S_IFCHR)
    }
    #endif

    @Test("A symbolic link stays: what it leads to is replaced, and one to nowhere is refused")
    func links() async throws {
        try FileManager.default.createDirectory(
            at: fetch.folder.appendingPathComponent("sub"), withIntermediateDirectories: false)
        for options in [[], ["--first"]] {
            try fetch.write("old", to: "sub/target")
            try link("a.txt", to: "sub/target")
            try await fetch.run(options + [server.url("/a.txt")], status: 1, saying: "'a.txt' exists")
            try await fetch.run(options + ["--overwrite", server.url("/a.txt")], status: 0)
            #expect(kind("a.txt") == S_IFLNK && kind("sub/target") == S_IFREG)
            #expect(fetch.text("sub/target") == "first\n")
            #expect(fetch.files("sub") == ["target"])

            try link("b", to: "sub/nowhere")
            try await fetch.run(
                options + ["--overwrite", "-o", "b", server.url("/a.txt")], status: 1,
                saying: "symbolic link that leads nowhere")
            #expect(kind("b") == S_IFLNK && fetch.files("sub") == ["target"])
            for name in ["a.txt", "b"] {
                try FileManager.default.removeItem(at: fetch.folder.appendingPathComponent(name))
            }
        }
    }

    @Test(
        "A folder is not a destination, with any option for files that exist",
        arguments: [[], ["--overwrite"], ["--skip-existing"], ["--continue"], ["--first"]])
    func folder(options: [String]) async throws {
        try FileManager.default.createDirectory(
            at: fetch.folder.appendingPathComponent("dir"), withIntermediateDirectories: false)
        try await fetch.run(
            options + ["-o", "dir", server.url("/a.txt")], status: 1,
            saying: "dir: cannot be written: it is a directory")
        #expect(fetch.files() == ["dir"] && fetch.files("dir").isEmpty)
        #expect(server.requests.isEmpty)
    }

    @Test(
        "A picture or trace that exists is replaced only under --overwrite, which is checked before anything is fetched",
        arguments: ["--waterfall", "--trace"])
    func sideFiles(option: String) async throws {
        try fetch.write("mine", to: "side")
        let refused = try await fetch.run(option, "side", server.url("/a.txt"), status: 2)
        #expect(refused.errors == "fetch: 'side' for \(option) exists; choose --overwrite to replace it\n")
        try await fetch.run("--demo", option, "side", status: 2)
        #expect(fetch.text("side") == "mine")
        #expect(server.requests.isEmpty)
        try await fetch.run(option, "side", "--overwrite", server.url("/a.txt"), status: 0)
        #expect(fetch.text("side")?.first.map { "<{".contains($0) } == true)
        try await fetch.run(
            option, ".", "--overwrite", server.url("/a.txt"), status: 2,
            saying: "'.' for \(option) is a directory")
    }

    @Test("Two outputs to one file are an error, before anything is fetched")
    func oneFileForTwo() async throws {
        server.route("/w", .text("x"))
        try link("here", to: ".")
        for (arguments, words) in [
            (["-o", "w", "--waterfall", "./w", server.url("/w")], "-o and --waterfall"),
            (["-o", "here/w", "--trace", "w", server.url("/w")], "-o and --trace"),
            (["--trace", "./w", "--waterfall", "w", server.url("/a.txt")], "--waterfall and --trace"),
            (["--waterfall", "w", server.url("/w")], "\(server.url("/w")) and --waterfall"),
        ] {
            let outcome = try await fetch.run(arguments + ["--overwrite"], status: 2)
            #expect(
                outcome.errors.hasPrefix("fetch: \(words) contradict each other: both want "),
                "\(outcome.errors)")
        }
        #expect(server.requests.isEmpty)
        #expect(fetch.files() == ["here"])
    }
}
