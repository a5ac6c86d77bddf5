import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

@Suite(.timeLimit(.minutes(5)))
struct DownloadTests {
    let fixture = TransferFixture()

    private func download(
        _ answer: Answer? = nil, existing: DownloadDataSource.Existing = .fail, resumes: Bool = false
    ) -> Deferred<DownloadDataSource.File> {
        fixture.download(answer, .init(existing: existing, resumes: resumes))
    }

    private func contents(_ name: String = "it") -> Data? { fixture.contents(name) }

    @Test("O5: a download is whole, and nothing else is there", arguments: [0, 1, 5_000_000])
    func whole(_ byteCount: Int) async throws {
        let file = try await download(.pattern(byteCount)).value
        #expect(file.byteCount == byteCount && file.url == fixture.file("it"))
        #expect(contents() == Data(Pattern.bytes(byteCount)))
        #expect(fixture.names == ["it"])
        #expect(fixture.server.requests[0][header: "Accept-Encoding"] == "identity")
    }

    @Test("O5: what exists at the destination is kept, replaced or a failure, by choice")
    func existing() async throws {
        try Data("old".utf8).write(to: fixture.file("it"))
        await #expect(throws: DataSourceError.self) { try await download(.text("new")).value }
        let kept = try await download(.text("new"), existing: .skip).value
        #expect(kept.wasKept && kept.byteCount == 3 && contents()?.text == "old")
        #expect(fixture.server.requests.isEmpty)
        let replaced = try await download(.text("newer"), existing: .replace).value
        #expect(!replaced.wasKept && replaced.byteCount == 5 && contents()?.text == "newer")
        #expect(fixture.names == ["it"])
    }

    @Test("O5: a symbolic link at the destination stays: what it leads to is kept or replaced")
    func link() async throws {
        let (link, target) = (fixture.file("it"), fixture.file("target"))
        try FileManager.default.createSymbolicLink(
            atPath: link.path, withDestinationPath: "target")
        for existing in [DownloadDataSource.Existing.replace, .skip] {
            await expectFailure(
                "cannotWrite", "\(link.path): cannot be written: it is a symbolic link that leads nowhere"
            ) {
                try await download(.text("new"), existing: existing).value
            }
        }
        try Data("old".utf8).write(to: target)
        #expect(try await download(.text("new"), existing: .skip).value.byteCount == 3)
        #expect(fixture.server.requests.isEmpty)
        let file = try await download(.text("newer"), existing: .replace).value
        #expect(file.url == link && file.byteCount == 5)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "target")
        #expect(contents("target")?.text == "newer" && fixture.names == ["it", "target"])
        await #expect(throws: DataSourceError.self) {
            try await download(.truncated(after: 5, of: 10), existing: .replace).value
        }
        #expect(contents("target")?.text == "newer" && fixture.names == ["it", "target"])
    }

    @Test("O5: what is no file is neither replaced nor taken for a download", arguments: ["folder", "pipe"])
    func noFile(_ kind: String) async throws {
        let path = fixture.file("it").path
        if kind == "folder" {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        } else {
            try #require(mkfifo(path, 0o600) == 0)
        }
        for existing in [DownloadDataSource.Existing.replace, .skip] {
            let reason = kind == "folder" ? "it is a directory" : "it is a pipe, a device or a socket"
            await expectFailure("cannotWrite", "\(path): cannot be written: \(reason)") {
                try await download(.text("new"), existing: existing).value
            }
        }
        var status = stat()
        #expect(
            lstat(path, &status) == 0 && status.st_mode & S_IFMT == (kind == "folder" ? S_IFDIR : S_IFIFO))
        #expect(fixture.server.requests.isEmpty && fixture.names == ["it"])
    }

    @Test("O5: a file that appears at the destination during a download is not overwritten")
    func appears() async throws {
        let gate = Gate()
        let request = download(.pattern(10, heldAfter: 5, by: gate))
        await fixture.server.waitForRequests(underWay: 1)
        try Data("mine".utf8).write(to: fixture.file("it"))
        gate.open()
        await expectFailure("destinationExists") { try await request.value }
        #expect(contents()?.text == "mine" && fixture.names == ["it"])
    }

    @Test("O5: a failure leaves what was at the destination, and nothing else")
    func failureLeavesOld() async throws {
        try Data("old".utf8).write(to: fixture.file("it"))
        for answer in [Answer.truncated(after: 10, of: 100), .reset(after: 0, of: 10), .status(500)] {
            await #expect(throws: DataSourceError.self) {
                try await download(answer, existing: .replace).value
            }
            #expect(contents()?.text == "old" && fixture.names == ["it"])
        }
    }

    @Test("O5: a destination that cannot be written is named, and the server is not asked")
    func unwritable() async throws {
        let path = fixture.file("no/such/folder/it").path
        await expectFailure("cannotWrite", "\(path): cannot be written: No such file or directory") {
            try await fixture.download(.text("x"), to: "no/such/folder/it").value
        }
        await expectFailure("cannotWrite", "it is a directory") {
            try await fixture.download(.text("x"), to: "", .init(existing: .replace)).value
        }
        #expect(fixture.server.requests.isEmpty)
    }

    @Test(
        "O5: a download continues where an earlier one ended, if the server has the same thing",
        arguments: [
            ["\"v1\"", nil], [nil, "Sat, 01 Jan 2022 00:00:00 GMT"],
            ["W/\"weak\"", "Sat, 01 Jan 2022 00:00:00 GMT"],
        ]
            as [[String?]]
    )
    func resume(_ validators: [String?]) async throws {
        let (etag, lastModified) = (validators[0], validators[1])
        await #expect(throws: DataSourceError.self) {
            try await download(
                .resource(1_000_000, etag: etag, lastModified: lastModified, breakingOffAfter: 400_000),
                resumes: true
            ).value
        }
        #expect(fixture.names == ["it.part", "it.part.from"])
        let file = try await download(
            .resource(1_000_000, etag: etag, lastModified: lastModified), resumes: true
        ).value
        #expect(file.resumedAt == 400_000 && file.byteCount == 1_000_000)
        #expect(contents() == Data(Pattern.bytes(1_000_000)) && fixture.names == ["it"])
    }

    @Test(
        "O5: a download starts again if the server has something else by now, or less than the part file",
        arguments: [(500, "\"v2\""), (300, "\"v1\"")])
    func changed(_ byteCount: Int, _ etag: String) async throws {
        await #expect(throws: DataSourceError.self) {
            try await download(.resource(1000, etag: "\"v1\"", breakingOffAfter: 400), resumes: true).value
        }
        let file = try await download(.resource(byteCount, etag: etag), resumes: true).value
        #expect(file.resumedAt == 0 && contents() == Data(Pattern.bytes(byteCount)))
        #expect(fixture.names == ["it"])
    }

    @Test("O5: without a validator there is nothing to resume, and no part file stays")
    func nothingToResume() async throws {
        await #expect(throws: DataSourceError.self) {
            try await download(.truncated(after: 10, of: 100), resumes: true).value
        }
        #expect(fixture.names.isEmpty)
    }

    @Test("O5: two downloads do not write one part file")
    func busy() async throws {
        let gate = Gate()
        let first = download(
            .pattern(10, heldAfter: 5, by: gate, headers: [("ETag", "\"a\"")]), resumes: true)
        await fixture.server.waitForRequests(underWay: 1)
        await expectFailure("destinationBusy") { try await download(resumes: true).value }
        gate.open()
        #expect(try await first.value.byteCount == 10)
        #expect(fixture.names == ["it"])
    }

    @Test("O6: a download that finds nothing new keeps what is there")
    func notModified() async throws {
        try Data("old".utf8).write(to: fixture.file("it"))
        var options = TransferOptions.patient
        options.ifNoneMatch = "\"a\""
        let file = try await fixture.download(
            .resource(10, etag: "\"a\""), .init(existing: .replace), transfer: options
        ).value
        #expect(
            file.wasKept && file.byteCount == 3 && file.response?.statusCode == 304 && fixture.names == ["it"]
        )
    }

    @Test("O5: the longest name that there can be is fine, a longer one an error before the server is asked")
    func longNames() async throws {
        await expectFailure("cannotWrite") {
            try await fixture.download(.text("x"), to: String(repeating: "x", count: 256)).value
        }
        #expect(fixture.server.requests.isEmpty && fixture.names.isEmpty)
        let name = String(repeating: "é", count: 127)
        _ = try await fixture.download(.text("x"), to: name).value
        #expect(fixture.names == [name])
    }
}
