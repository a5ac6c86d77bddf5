import Deferred
import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import DeferredOperations

/// Files that may exist at the paths of a part file and its record.
@Suite(.watchdog(atOnce: .few))
struct PartFileTests {
    let fixture = TransferFixture()

    private func download(
        _ answer: Answer = .resource(10, etag: "\"a\""), path: String = "/it"
    ) -> Deferred<DownloadDataSource.File> {
        fixture.download(answer, path: path, .init(resumes: true))
    }

    private func mode(_ name: String) -> mode_t? {
        var status = stat()
        return lstat(fixture.file(name).path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    private func target(of name: String) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: fixture.file(name).path)
    }

    private func link(_ name: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: fixture.file(name).path, withDestinationPath: "target")
    }

    #if os(Linux)
    @Test("O5: a new file has the mode that the process's mask leaves, also where no sample can be made")
    func modeByMask() async throws {
        _ = try await download().value
        #expect(PartFile.modeByMask == mode("it"))
    }
    #endif

    @Test("O5: no link or pipe at the part file is used", arguments: ["it.part", "it.part.from"])
    func noFile(_ name: String) async throws {
        try link(name)
        await expectFailure("cannotWrite") { try await download().value }
        #expect(fixture.names == [name])
        try fixture.write("mine", to: "target")
        await expectFailure("cannotWrite") { try await download().value }
        #expect(fixture.contents("target")?.text == "mine" && fixture.names == [name, "target"])
        #expect(try target(of: name) == "target")
        try FileManager.default.removeItem(at: fixture.file(name))
        try #require(mkfifo(fixture.file(name).path, 0o600) == 0)
        await expectFailure("cannotWrite") { try await download().value }
        #expect(fixture.names == [name, "target"])
    }

    @Test("O5: a file of the user's at the part file stays", arguments: ["it.part", "it.part.from"])
    func foreign(_ name: String) async throws {
        try fixture.write("mine", to: name)
        #expect(try await download().value.byteCount == 10)
        #expect(fixture.contents(name)?.text == "mine" && fixture.names == ["it", name])
        try FileManager.default.removeItem(at: fixture.file())
        await expectFailure("truncated") { try await download(.truncated(after: 5, of: 10)).value }
        #expect(fixture.contents(name)?.text == "mine" && fixture.names == [name])
    }

    @Test("O5: a part file with another name, a hard link, is not written")
    func hardLink() async throws {
        await fixture.leavePart()
        try FileManager.default.linkItem(at: fixture.file("it.part"), to: fixture.file("other"))
        #expect(try await download(.resource(1000, etag: "\"a\"")).value.byteCount == 1000)
        #expect(fixture.isPattern(400, "other") && fixture.isPattern(400, "it.part"))
    }

    @Test("O5: what replaces the part file meanwhile stays", arguments: ["success", "cancel"])
    func replaced(_ ending: String) async throws {
        let gate = Gate()
        let request = download(.pattern(10, heldAfter: 5, by: gate, headers: [("ETag", "\"a\"")]))
        await fixture.server.waitForRequests(underWay: 1)
        try fixture.write("mine", to: "target")
        try FileManager.default.removeItem(at: fixture.file("it.part"))
        try link("it.part")
        if ending == "cancel" {
            request.cancel()
            await #expect(throws: CancellationError.self) { try await request.value }
        } else {
            gate.open()
            await expectFailure("cannotWrite") { try await request.value }
        }
        gate.open()
        #expect(fixture.contents("target")?.text == "mine" && !fixture.names.contains("it"))
        #expect(try target(of: "it.part") == "target")
    }

    @Test("O5: part files and their records are readable by their owner only")
    func permissions() async throws {
        await fixture.leavePart()
        #expect(mode("it.part") == 0o600 && mode("it.part.from") == 0o600)
        // Also where somebody has changed that.
        try #require(chmod(fixture.file("it.part").path, 0o644) == 0)
        await fixture.leavePart()
        #expect(mode("it.part") == 0o600)
        _ = try await download(.resource(1000, etag: "\"a\"")).value
        try fixture.write("", to: "other")
        #expect(mode("it") == mode("other"))
    }

    @Test("O5: only what a download has made, and has no other name, is removed as abandoned")
    func abandoned() throws {
        let modes: [(name: String, mode: mode_t)] = [
            ("it.12345678.part", 0o600), ("it.23456781.part", 0o644), ("it.34567812.part", 0o600),
        ]
        for (name, mode) in modes {
            try fixture.write("some", to: name)
            try #require(chmod(fixture.file(name).path, mode) == 0)
        }
        try FileManager.default.linkItem(at: fixture.file(modes[2].name), to: fixture.file("other"))
        DownloadDataSource.removeAbandonedPartFiles(for: [fixture.file()])
        #expect(fixture.names == [modes[1].name, modes[2].name, "other"])
    }

    @Test("O5: a file that is replaced keeps its mode", arguments: [0o600, 0o640, 0o755] as [mode_t])
    func keptMode(_ wanted: mode_t) async throws {
        try fixture.write("old")
        try #require(chmod(fixture.file().path, wanted) == 0)
        _ = try await fixture.download(.text("new"), .init(existing: .replace)).value
        #expect(mode("it") == wanted && fixture.contents()?.text == "new")
    }

    @Test("O5: a request for something else does not continue a part file, which stays if that fails")
    func otherRequest() async throws {
        await fixture.leavePart()
        await expectFailure("status") { try await download(.status(404), path: "/other").value }
        #expect(fixture.names == ["it.part", "it.part.from"])
        let other = try await download(.resource(500, etag: "\"a\""), path: "/other").value
        #expect(other.resumedAt == 0 && other.byteCount == 500 && fixture.names == ["it"])
    }

    // MARK: An incomplete file of another program, as the beginning of a download

    private func begin(
        _ name: String = "it", validator: String = "\"a\"",
        unless isCancelled: @Sendable () -> Bool = { false }
    ) throws -> Bool {
        try DownloadDataSource.beginPartFile(
            for: fixture.file(name), with: URLRequest(url: fixture.url()), validator: validator,
            unless: isCancelled)
    }

    @Test(
        "O5: only the rest of a file is transferred, if the server still has the same thing",
        arguments: [("\"a\"", 2_000_000), ("\"old\"", 0)])
    func beginning(_ validator: String, _ resumedAt: Int64) async throws {
        try Data(Pattern.bytes(2_000_000)).write(to: fixture.file())
        #expect(try begin(validator: validator))
        #expect(fixture.names == ["it", "it.part", "it.part.from"])
        try await fixture.expectDownload(
            of: 3_000_000, resumedAt: resumedAt, .resource(3_000_000, etag: "\"a\""),
            .init(existing: .replace, resumes: true))
        #expect(fixture.ranges == ["bytes=2000000-"])
        #expect(fixture.server.requests[0][header: "If-Range"] == validator)
    }

    @Test("O5: a part file that exists stays, and so does a file of the user's with its name")
    func notBegun() throws {
        try fixture.write("beginning")
        #expect(try begin())
        try fixture.write("other")
        #expect(try !begin(validator: "\"b\""))
        #expect(fixture.contents("it.part")?.text == "beginning")

        try fixture.write("mine", to: "other.part")
        try fixture.write("beginning", to: "other")
        #expect(try !begin("other"))
        #expect(fixture.contents("other.part")?.text == "mine")
    }

    @Test("O5: a cancelled copy, and one of a file that cannot be read, leave nothing")
    func cancelledBeginning() throws {
        #expect(throws: (any Error).self) { try begin() }
        try fixture.write("beginning")
        #expect(throws: CancellationError.self) { try begin(unless: { true }) }
        #expect(throws: DataSourceError.self) { try begin(validator: "\"a\"\r\n") }
        #expect(fixture.names == ["it"])
    }
}
