import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Files, pipes, devices and links at the destination, and special names.
@Suite(.watchdog(atOnce: .few))
struct DestinationTests: ProgramSuite {
    let fetch = FetchProgram(serving: ["/a.txt": .text("first\n")])

    private func kind(_ name: String) -> mode_t {
        var status = stat()
        return lstat(fetch.file(name).path, &status) == 0 ? status.st_mode & S_IFMT : 0
    }

    @Test("A name that begins with '~' is not a home folder, in URLs and in options")
    func tilde() async throws {
        let names = ["~", "~daemon", "~root"]
        for name in names { server.route("/\(name)", .text("of \(name)\n")) }
        // The home folder that "~" must not be replaced by.
        try fetch.makeFolder("home")
        let environment = ["HOME": fetch.file("home").path]
        try await fetch.run(
            names.map { url("/\($0)") }, environment: environment, status: 0, leaving: ["home"] + names)
        for name in names { #expect(fetch.text(name) == "of \(name)\n") }
        try await fetch.run([url("/~")], environment: environment, status: 1)

        try fetch.write(url("/a.txt"), to: "~list")
        for arguments in [
            ["--input", "~list", "-d", "~d/~", "--waterfall", "~w.svg", "--trace", "~t.json"],
            ["-o", "~o", url("/a.txt")], ["--first", "-o", "~f", url("/a.txt")],
        ] {
            try await fetch.run(arguments, environment: environment, status: 0)
        }
        let made = (names + ["~d", "~f", "~list", "~o", "~t.json", "~w.svg"]).sorted()
        #expect(fetch.files() == ["home"] + made && fetch.files("~d/~") == ["a.txt"])
        // Foundation creates hidden folders of its own there.
        #expect(fetch.files("home").allSatisfy { $0.hasPrefix(".") })
    }

    @Test(
        "A pipe is written to like standard output, and stays a pipe",
        arguments: [[], ["--overwrite"], ["--skip-existing"], ["--first"]])
    func pipe(options: [String]) async throws {
        try fetch.makePipe("pipe")
        try fetch.link("link", to: "pipe")
        for name in ["pipe", "link"] {
            let program = try fetch.start(options + ["-o", name, url("/a.txt")])
            // The program waits for a reader. This one waits for nothing: not for a program that has failed.
            let reader = open(fetch.file("pipe").path, O_RDWR | O_NONBLOCK)
            try #require(reader >= 0)
            defer { close(reader) }
            let outcome = await program.outcome
            #expect(outcome.status == 0, "\(outcome.errors)")
            var bytes = [UInt8](repeating: 0, count: 100)
            let count = read(reader, &bytes, bytes.count)
            #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self) == "first\n")
        }
        #expect(kind("pipe") == S_IFIFO && kind("link") == S_IFLNK && fetch.files() == ["link", "pipe"])
    }

    #if os(Linux)
    // Creating a device takes rights that most test runs do not have.
    @Test("A device is written to and stays, for -o, the waterfall and the trace")
    func device() async throws {
        guard mknod(fetch.file("null").path, S_IFCHR | 0o666, dev_t(0x103)) == 0 else { return }
        for options in [["-o", "null"], ["--overwrite", "-o", "null"], ["-d", "d", "--waterfall", "null"]] {
            let outcome = try await fetch.run(options + [url("/a.txt")])
            // Without the right to open the device, that is an error, and the device stays as well.
            #expect(outcome.status == 0 || outcome.errors.contains("ermission denied"), "\(outcome.errors)")
            #expect(kind("null") == S_IFCHR)
        }
        // A name from a URL never names a device.
        server.route("/null", .text("x"))
        try await fetch.run("--overwrite", url("/null"), status: 1)
        #expect(kind("null") == S_IFCHR)
    }
    #endif

    @Test(
        "A symbolic link stays: what it leads to is replaced, and one to nowhere is refused",
        arguments: [[], ["--first"]])
    func links(options: [String]) async throws {
        try fetch.makeFolder("sub")
        try fetch.write("old", to: "sub/target")
        try fetch.link("a.txt", to: "sub/target")
        try await fetch.run(options + [url("/a.txt")], status: 1, saying: "'a.txt' exists")
        try await fetch.run(options + ["--overwrite", url("/a.txt")], status: 0)
        #expect(kind("a.txt") == S_IFLNK && kind("sub/target") == S_IFREG)
        #expect(fetch.text("sub/target") == "first\n")

        try fetch.link("b", to: "sub/nowhere")
        try await fetch.run(
            options + ["--overwrite", "-o", "b", url("/a.txt")], status: 1,
            saying: "symbolic link that leads nowhere")
        #expect(kind("b") == S_IFLNK && fetch.files("sub") == ["target"])
    }

    @Test(
        "A folder is not a destination, with any option for files that exist",
        arguments: [[], ["--overwrite"], ["--skip-existing"], ["--continue"], ["--first"]])
    func folder(options: [String]) async throws {
        try fetch.makeFolder("dir")
        try await fetch.run(
            options + ["-o", "dir", url("/a.txt")], status: 1,
            saying: "dir: cannot be written: it is a directory", leaving: ["dir"])
        #expect(fetch.files("dir").isEmpty && server.requests.isEmpty)
    }

    @Test(
        "A picture or trace is written, also of failures, and replaces a file only under --overwrite",
        arguments: [("--waterfall", "<svg "), ("--trace", #"{"displayTimeUnit""#)])
    func sideFiles(option: String, beginning: String) async throws {
        try fetch.write("mine", to: "side")
        let refused = try await fetch.run(option, "side", url("/a.txt"), status: 2)
        #expect(refused.errors == "fetch: 'side' for \(option) exists; choose --overwrite to replace it\n")
        try await fetch.run("--demo", option, "side", status: 2)
        try await fetch.run(
            option, ".", "--overwrite", url("/a.txt"), status: 2,
            saying: "'.' for \(option) is a directory")
        #expect(fetch.text("side") == "mine" && server.requests.isEmpty)

        try await fetch.run(option, "side", "--overwrite", url("/a.txt"), url("/none"), status: 1)
        let text = try #require(fetch.text("side"))
        #expect(text.hasPrefix(beginning) && text.contains("404"), "\(text.prefix(100))")
        // Linux cuts the names of Dispatch's threads ("oot.default-qos"); those in the trace are readable.
        #expect(!text.contains("\"oot."))
        try await fetch.run(
            option, "no/side", "-d", "x", url("/a.txt"), status: 2,
            saying: "fetch: 'no/side' for \(option) is in no folder")
        try await fetch.run(option, "new/sub/side", "-d", "new/sub/x", url("/a.txt"), status: 0)
        #expect(fetch.files("new/sub") == ["side", "x"])
    }

    @Test("Two outputs to one file are an error, before anything is fetched")
    func oneFileForTwo() async throws {
        try fetch.link("here", to: ".")
        for (arguments, words) in [
            (["-o", "w", "--waterfall", "./w", url("/w")], "-o and --waterfall"),
            (["-o", "here/w", "--trace", "w", url("/w")], "-o and --trace"),
            (["--trace", "./w", "--waterfall", "w", url("/a.txt")], "--waterfall and --trace"),
            (["--waterfall", "w", url("/w")], "\(url("/w")) and --waterfall"),
        ] {
            try await fetch.run(
                arguments + ["--overwrite"], status: 2,
                saying: "fetch: \(words) contradict each other: both want ", leaving: ["here"])
        }
        #expect(server.requests.isEmpty)
    }
}
