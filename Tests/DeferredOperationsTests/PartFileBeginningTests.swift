import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

/// An incomplete file of another program, as the beginning of a download.
@Suite(.timeLimit(.minutes(5)))
struct PartFileBeginningTests {
    let fixture = TransferFixture()
    let request: URLRequest
    let file: URL

    init() throws {
        (request, file) = (URLRequest(url: fixture.url("/it")), fixture.file("it"))
        try Data(Pattern.bytes(2_000_000)).write(to: file)
    }

    private func download() async throws -> DownloadDataSource.File {
        try await fixture.download(
            .resource(3_000_000, etag: "\"a\""), .init(existing: .replace, resumes: true)
        ).value
    }

    @Test("O5: only the rest of a file is transferred, if the server still has the same thing")
    func resumed() async throws {
        #expect(try DownloadDataSource.beginPartFile(for: file, with: request, validator: "\"a\""))
        #expect(fixture.names == ["it", "it.part", "it.part.from"])
        let result = try await download()
        #expect(result.resumedAt == 2_000_000 && result.byteCount == 3_000_000)
        #expect(fixture.server.requests.last?[header: "Range"] == "bytes=2000000-")
        #expect(fixture.server.requests.last?[header: "If-Range"] == "\"a\"")
        #expect(fixture.names == ["it"])
        #expect(Pattern.matches(try Data(contentsOf: file), at: 0))
    }

    @Test("O5: a file is fetched anew if the server has something else")
    func changed() async throws {
        try DownloadDataSource.beginPartFile(for: file, with: request, validator: "\"old\"")
        let result = try await download()
        #expect(result.resumedAt == 0 && result.byteCount == 3_000_000)
        #expect(fixture.names == ["it"])
    }

    @Test("O5: a part file that exists stays, and so does a file of the user's with its name")
    func existing() throws {
        #expect(try DownloadDataSource.beginPartFile(for: file, with: request, validator: "\"a\""))
        try Data(Pattern.bytes(10)).write(to: file)
        #expect(try !DownloadDataSource.beginPartFile(for: file, with: request, validator: "\"b\""))
        #expect(try Data(contentsOf: fixture.file("it.part")).count == 2_000_000)

        try Data("mine".utf8).write(to: fixture.file("other.part"))
        try Data("beginning".utf8).write(to: fixture.file("other"))
        let other = fixture.file("other")
        #expect(try !DownloadDataSource.beginPartFile(for: other, with: request, validator: "\"a\""))
        #expect(try Data(contentsOf: fixture.file("other.part")) == Data("mine".utf8))
    }

    @Test("O5: a cancelled copy, and one of a file that cannot be read, leave nothing")
    func cancelled() {
        #expect(throws: CancellationError.self) {
            try DownloadDataSource.beginPartFile(
                for: file, with: request, validator: "\"a\"", unless: { true })
        }
        #expect(throws: (any Error).self) {
            try DownloadDataSource.beginPartFile(
                for: fixture.file("nothing"), with: request, validator: "\"a\"")
        }
        #expect(fixture.names == ["it"])
    }
}
