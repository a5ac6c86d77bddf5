import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

/// Files that may exist at the paths of a part file and its record.
@Suite(.timeLimit(.minutes(5)))
struct PartFileTests {
    let fixture = TransferFixture()

    private func download(
        _ answer: Answer, path: String = "/it", existing: DownloadDataSource.Existing = .fail,
        resumes: Bool = true, transfer: TransferOptions = .patient
    ) -> Deferred<DownloadDataSource.File> {
        fixture.download(answer, path: path, .init(existing: existing, resumes: resumes), transfer: transfer)
    }

    private func contents(_ name: String) -> String? { fixture.contents(name)?.text }

    private func mode(_ name: String) -> mode_t? {
        var status = stat()
        return lstat(fixture.file(name).path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    private func expectCannotWrite(_ request: Deferred<DownloadDataSource.File>) async {
        await expectFailure("cannotWrite") { try await request.value }
    }

    /// Leaves a part file of 400 bytes.
    private func leavePart() async {
        await expectFailure("truncated") {
            try await download(.resource(1000, etag: "\"a\"", breakingOffAfter: 400)).value
        }
    }

    @Test("O5: no link or pipe at the part file is used", arguments: ["it.part", "it.part.from"])
    func noFile(_ name: String) async throws {
        let path = fixture.file(name).path
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "target")
        await expectCannotWrite(download(.resource(10, etag: "\"a\"")))
        #expect(fixture.names == [name])
        try Data("mine".utf8).write(to: fixture.file("target"))
        await expectCannotWrite(download(.resource(10, etag: "\"a\"")))
        #expect(contents("target") == "mine" && fixture.names == [name, "target"])
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == "target")
        try FileManager.default.removeItem(atPath: path)
        try #require(mkfifo(path, 0o600) == 0)
        await expectCannotWrite(download(.resource(10, etag: "\"a\"")))
        #expect(fixture.names == [name, "target"])
    }

    @Test("O5: a file of the user's at the part file stays", arguments: ["it.part", "it.part.from"])
    func foreign(_ name: String) async throws {
        try Data("mine".utf8).write(to: fixture.file(name))
        #expect(try await download(.resource(10, etag: "\"a\"")).value.byteCount == 10)
        #expect(contents(name) == "mine" && fixture.names == ["it", name])
        try FileManager.default.removeItem(at: fixture.file("it"))
        await #expect(throws: DataSourceError.self) { try await download(.truncated(after: 5, of: 10)).value }
        #expect(contents(name) == "mine" && fixture.names == [name])
    }

    @Test("O5: a part file with another name, a hard link, is not written")
    func hardLink() async throws {
        await leavePart()
        try FileManager.default.linkItem(at: fixture.file("it.part"), to: fixture.file("other"))
        #expect(try await download(.resource(1000, etag: "\"a\"")).value.byteCount == 1000)
        #expect(contents("other")?.utf8.count == contents("it.part")?.utf8.count)
        #expect(fixture.contents("other") == Data(Pattern.bytes(400)))
    }

    @Test("O5: what replaces the part file meanwhile stays", arguments: ["success", "cancel"])
    func replaced(_ ending: String) async throws {
        let gate = Gate()
        let request = download(.pattern(10, heldAfter: 5, by: gate, headers: [("ETag", "\"a\"")]))
        await fixture.server.waitForRequests(underWay: 1)
        try Data("mine".utf8).write(to: fixture.file("target"))
        try FileManager.default.removeItem(at: fixture.file("it.part"))
        try FileManager.default.createSymbolicLink(
            atPath: fixture.file("it.part").path, withDestinationPath: "target")
        if ending == "cancel" {
            request.cancel()
            await #expect(throws: CancellationError.self) { try await request.value }
        } else {
            gate.open()
            await expectCannotWrite(request)
        }
        gate.open()
        #expect(contents("target") == "mine" && !fixture.names.contains("it"))
        #expect(
            try FileManager.default.destinationOfSymbolicLink(atPath: fixture.file("it.part").path)
                == "target")
    }

    @Test("O5: part files and their records are readable by their owner only")
    func permissions() async throws {
        await leavePart()
        #expect(mode("it.part") == 0o600 && mode("it.part.from") == 0o600)
        // Also where somebody has changed that.
        try #require(chmod(fixture.file("it.part").path, 0o644) == 0)
        await leavePart()
        #expect(mode("it.part") == 0o600)
        _ = try await download(.resource(1000, etag: "\"a\"")).value
        try Data().write(to: fixture.file("other"))
        #expect(mode("it") == mode("other"))
    }

    @Test("O5: only what a download has made, and has no other name, is removed as abandoned")
    func abandoned() throws {
        let modes: [(name: String, mode: mode_t)] = [
            ("it.12345678.part", 0o600), ("it.23456781.part", 0o644), ("it.34567812.part", 0o600),
        ]
        for (name, mode) in modes {
            try Data("some".utf8).write(to: fixture.file(name))
            try #require(chmod(fixture.file(name).path, mode) == 0)
        }
        try FileManager.default.linkItem(at: fixture.file(modes[2].name), to: fixture.file("other"))
        DownloadDataSource.removeAbandonedPartFiles(for: [fixture.file("it")])
        #expect(fixture.names == [modes[1].name, modes[2].name, "other"])
    }

    @Test("O5: a file that is replaced keeps its mode", arguments: [0o600, 0o640, 0o755] as [mode_t])
    func keptMode(_ wanted: mode_t) async throws {
        try Data("old".utf8).write(to: fixture.file("it"))
        try #require(chmod(fixture.file("it").path, wanted) == 0)
        _ = try await download(.text("new"), existing: .replace, resumes: false).value
        #expect(mode("it") == wanted && contents("it") == "new")
    }

    @Test("O5: a request for something else does not continue a part file, which stays if that fails")
    func otherRequest() async throws {
        await leavePart()
        await #expect(throws: DataSourceError.self) { try await download(.status(404), path: "/other").value }
        #expect(fixture.names == ["it.part", "it.part.from"])
        let other = try await download(.resource(500, etag: "\"a\""), path: "/other").value
        #expect(other.resumedAt == 0 && other.byteCount == 500 && fixture.names == ["it"])
    }

    @Test("O5: what appears at the destination is kept by .skip", arguments: [false, true])
    func appearsWhileSkipping(_ resumes: Bool) async throws {
        let gate = Gate()
        let answer = Answer.pattern(10, heldAfter: 5, by: gate, headers: [("ETag", "\"a\"")])
        let request = download(answer, existing: .skip, resumes: resumes)
        await fixture.server.waitForRequests(underWay: 1)
        try Data("mine".utf8).write(to: fixture.file("it"))
        gate.open()
        let file = try await request.value
        #expect(file.wasKept && file.byteCount == 4 && contents("it") == "mine" && fixture.names == ["it"])
    }

    @Test("O5: a 304 with nothing at the destination is a failure")
    func notModifiedWithoutFile() async throws {
        await expectFailure("status", "304") {
            try await download(
                .resource(10, etag: "\"a\""), resumes: false,
                transfer: .init(silenceTimeout: .seconds(3600), ifNoneMatch: "\"a\"")
            ).value
        }
        #expect(fixture.names.isEmpty)
    }

    @Test("O9: a password in a URL is not in the record of a part file")
    func password() async throws {
        let address = fixture.url("/it").absoluteString.replacingOccurrences(of: "//", with: "//me:secret@")
        fixture.server.route("/it", .resource(1000, etag: "\"a\"", breakingOffAfter: 400))
        let error = await #expect(throws: DataSourceError.self) {
            try await DownloadDataSource(
                URL(string: address)!, to: fixture.file("it"), options: .init(resumes: true),
                transfer: .patient
            ).request(on: fixture.queue).value
        }
        #expect(!(String(reflecting: error) + error!.localizedDescription).contains("secret"))
        #expect(contents("it.part.from")?.contains("secret") == false)
    }
}
