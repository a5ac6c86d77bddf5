import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import TestSupport
import Testing

@Suite(.watchdog(atOnce: .few))
struct DownloadTests {
    let fixture = TransferFixture()

    private func download(
        _ answer: Answer? = nil, existing: DownloadDataSource.Existing = .fail, resumes: Bool = false
    ) -> Deferred<DownloadDataSource.File> {
        fixture.download(answer, .init(existing: existing, resumes: resumes))
    }

    @Test("O5: a download is whole, and nothing else is there", arguments: [0, 1, 5_000_000])
    func whole(_ byteCount: Int) async throws {
        try await fixture.expectDownload(of: byteCount, .pattern(byteCount), .init())
        #expect(fixture.server.requests[0][header: "Accept-Encoding"] == "identity")
    }

    // MARK: What exists at the destination

    @Test("O5: what exists at the destination is kept, replaced or a failure, by choice")
    func existing() async throws {
        try fixture.write("old")
        await #expect(throws: DataSourceError.self) { try await download(.text("new")).value }
        let kept = try await download(existing: .skip).value
        #expect(kept.wasKept && kept.byteCount == 3 && fixture.server.requests.isEmpty)
        for answer in [Answer.truncated(after: 10, of: 100), .reset(after: 0, of: 10), .status(500)] {
            await #expect(throws: DataSourceError.self) {
                try await download(answer, existing: .replace).value
            }
            #expect(fixture.contents()?.text == "old" && fixture.names == ["it"])
        }
        let replaced = try await download(.text("newer"), existing: .replace).value
        #expect(!replaced.wasKept && replaced.byteCount == 5)
        #expect(fixture.contents()?.text == "newer" && fixture.names == ["it"])
    }

    @Test("O5: a symbolic link at the destination stays: what it leads to is kept or replaced")
    func link() async throws {
        let link = fixture.file()
        try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "target")
        for existing in [DownloadDataSource.Existing.replace, .skip] {
            await expectFailure(
                "cannotWrite", "\(link.path): cannot be written: it is a symbolic link that leads nowhere"
            ) {
                try await download(.text("new"), existing: existing).value
            }
        }
        try fixture.write("old", to: "target")
        #expect(try await download(existing: .skip).value.byteCount == 3)
        #expect(fixture.server.requests.isEmpty)
        let file = try await download(.text("newer"), existing: .replace).value
        #expect(file.url == link && file.byteCount == 5)
        await #expect(throws: DataSourceError.self) {
            try await download(.truncated(after: 5, of: 10), existing: .replace).value
        }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "target")
        #expect(fixture.contents("target")?.text == "newer" && fixture.names == ["it", "target"])
    }

    @Test("O5: what is no file is neither replaced nor taken for a download", arguments: [S_IFDIR, S_IFIFO])
    func noFile(_ kind: mode_t) async throws {
        let path = fixture.file().path
        try #require((kind == S_IFDIR ? mkdir(path, 0o700) : mkfifo(path, 0o600)) == 0)
        for existing in [DownloadDataSource.Existing.replace, .skip] {
            let reason = kind == S_IFDIR ? "it is a directory" : "it is a pipe, a device or a socket"
            await expectFailure("cannotWrite", "\(path): cannot be written: \(reason)") {
                try await download(.text("new"), existing: existing).value
            }
        }
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & S_IFMT == kind)
        #expect(fixture.server.requests.isEmpty && fixture.names == ["it"])
    }

    @Test(
        "O5: a file that appears at the destination during a download is not overwritten, and kept by .skip",
        arguments: [DownloadDataSource.Existing.fail, .skip], [false, true])
    func appears(_ existing: DownloadDataSource.Existing, _ resumes: Bool) async throws {
        let gate = Gate()
        let request = download(
            .pattern(10, heldAfter: 5, by: gate, headers: [("ETag", "\"a\"")]), existing: existing,
            resumes: resumes)
        await fixture.server.waitForRequests(underWay: 1)
        try fixture.write("mine")
        gate.open()
        if existing == .skip {
            let file = try await request.value
            #expect(file.wasKept && file.byteCount == 4 && fixture.names == ["it"])
        } else {
            await expectFailure("destinationExists") { try await request.value }
        }
        #expect(fixture.contents()?.text == "mine")
    }

    @Test(
        "O5: a destination that cannot be written is named, and the server is not asked; the longest name can be"
    )
    func unwritable() async throws {
        for (name, words) in [
            ("no/such/folder/it", "No such file or directory"), ("", "it is a directory"),
            (String(repeating: "x", count: 256), ""),
        ] {
            await expectFailure("cannotWrite", "\(fixture.file(name).path): cannot be written: \(words)") {
                try await fixture.download(.text("x"), to: name, .init(existing: .replace)).value
            }
        }
        #expect(fixture.server.requests.isEmpty && fixture.names.isEmpty)
        let name = String(repeating: "é", count: 127)
        _ = try await fixture.download(to: name).value
        #expect(fixture.names == [name])
    }

    @Test("O5: the folders of a destination are made where that was asked for")
    func folders() async throws {
        let file = try await fixture.download(.text("x"), to: "a/b/c/it", .init(createsFolders: true)).value
        #expect(try Data(contentsOf: file.url).text == "x")
        try fixture.write("", to: "file")
        await expectFailure("cannotWrite") {
            try await fixture.download(to: "file/it", .init(createsFolders: true)).value
        }
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

    @Test("O6: a download that finds nothing new keeps what is there; with nothing there it is a failure")
    func notModified() async throws {
        let options = TransferOptions(silenceTimeout: .seconds(3600), ifNoneMatch: "\"a\"")
        let answer = Answer.resource(10, etag: "\"a\"")
        await expectFailure("status", "304") { try await fixture.download(answer, transfer: options).value }
        #expect(fixture.names.isEmpty)
        try fixture.write("old")
        let file = try await fixture.download(.none, .init(existing: .replace), transfer: options).value
        #expect(file.wasKept && file.byteCount == 3 && file.response?.statusCode == 304)
        #expect(fixture.names == ["it"])
    }
}
