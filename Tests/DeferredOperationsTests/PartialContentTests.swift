import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

/// Answers that are a part of what was requested (206), and requests that ask for one.
@Suite(.timeLimit(.minutes(5)))
struct PartialContentTests {
    let fixture = TransferFixture()

    private func download(range: String? = nil) -> Deferred<DownloadDataSource.File> {
        fixture.download(range: range, .init(resumes: true))
    }

    private var contents: Data? { fixture.contents() }

    /// A 206 with bytes of the pattern that announces `range` of `total` and sends `sent` bytes of it.
    private func part(_ range: ClosedRange<Int>, of total: Int, sending sent: Int? = nil) -> Answer {
        .bytes(
            Pattern.bytes(sent ?? range.count, from: range.lowerBound), status: 206,
            headers: [
                ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound)/\(total)"),
                ("ETag", "\"a\""),
            ])
    }

    private func leavePart(_ byteCount: Int, of total: Int) async {
        fixture.server.route("/it", .resource(total, etag: "\"a\"", breakingOffAfter: byteCount))
        await #expect(throws: DataSourceError.self) { try await download().value }
        #expect(fixture.names == ["it.part", "it.part.from"])
    }

    @Test("O5: a 206 that ends before the end of the whole is continued")
    func shortPart() async throws {
        await leavePart(50_000, of: 100_000)
        fixture.server.route(
            "/it", part(50_000...50_099, of: 100_000), part(50_100...50_100, of: 100_000),
            .resource(100_000, etag: "\"a\""))
        let file = try await download().value
        #expect(file.byteCount == 100_000 && contents == Data(Pattern.bytes(100_000)))
        #expect(fixture.ranges == [nil, "bytes=50000-", "bytes=50100-", "bytes=50101-"])
        #expect(fixture.names == ["it"])
    }

    @Test("O5: a 206 that is shorter than its Content-Range is truncated", arguments: [0, 100])
    func shortBody(_ sent: Int) async {
        await leavePart(500, of: 1000)
        fixture.server.route("/it", part(500...999, of: 1000, sending: sent))
        await expectFailure("truncated", "truncated: \(sent) of 500 bytes") { try await download().value }
        #expect(fixture.names == ["it.part", "it.part.from"])
    }

    @Test("O5: a 206 that contradicts what the server sent before is malformed, and nothing is kept")
    func contradiction() async {
        await leavePart(500, of: 1000)
        fixture.server.route("/it", part(500...999, of: 2000))
        await expectFailure("malformedResponse") { try await download().value }
        #expect(fixture.names.isEmpty && fixture.ranges == [nil, "bytes=500-"])
    }

    @Test("O5: a part file is only continued for the caller's own Range that it was started for")
    func otherRange() async throws {
        fixture.server.route("/it", .resource(2000, etag: "\"a\"", breakingOffAfter: 400))
        await #expect(throws: DataSourceError.self) { try await download(range: "bytes=0-999").value }
        fixture.server.route("/it", .resource(2000, etag: "\"a\""))
        let file = try await download(range: "bytes=1000-1999").value
        #expect(file.resumedAt == 0 && contents == Data(Pattern.bytes(1000, from: 1000)))
        #expect(fixture.server.requests.last?[header: "Range"] == "bytes=1000-1999")
    }

    @Test("O5: a download of the caller's own Range continues within that range", arguments: ["", "1999"])
    func sameRange(_ end: String) async throws {
        fixture.server.route("/it", .resource(2000, etag: "\"a\"", breakingOffAfter: 400))
        await #expect(throws: DataSourceError.self) { try await download(range: "bytes=1000-\(end)").value }
        #expect(fixture.names == ["it.part", "it.part.from"])
        fixture.server.route("/it", .resource(2000, etag: "\"a\""))
        let file = try await download(range: "bytes=1000-\(end)").value
        #expect(file.resumedAt == 400 && contents == Data(Pattern.bytes(1000, from: 1000)))
        #expect(fixture.server.requests.last?[header: "Range"] == "bytes=1400-\(end)")
        #expect(fixture.names == ["it"])
    }

    /// Leaves a part file that has all of the 1000 bytes, of a length that the server has not announced: the
    /// answer breaks off after its last byte.
    private func leaveCompletePart() async {
        let unfinished = Answer { exchange in
            try exchange.sendHead(200, [("ETag", "\"a\""), ("Transfer-Encoding", "chunked")])
            try exchange.send("3e8\r\n")
            try exchange.sendPattern(0..<1000)
            try exchange.hangUp()
        }
        fixture.server.route("/it", unfinished)
        await #expect(throws: DataSourceError.self) { try await download().value }
        #expect(fixture.names == ["it.part", "it.part.from"])
    }

    @Test("O5: a complete part file is recognised by 416, and nothing is fetched again")
    func completePart() async throws {
        await leaveCompletePart()
        fixture.server.route("/it", .resource(1000, etag: "\"a\""))
        let file = try await download().value
        #expect(file.byteCount == 1000 && file.resumedAt == 1000 && contents == Data(Pattern.bytes(1000)))
        #expect(fixture.server.requests.count == 2 && fixture.names == ["it"])
    }

    @Test("O5: a 416 for something else of the same length does not make a part file complete")
    func otherComplete() async throws {
        await leaveCompletePart()
        let headers = [("Content-Range", "bytes */1000"), ("ETag", "\"b\"")]
        fixture.server.route("/it", .status(416, headers: headers), .resource(1000, etag: "\"b\""))
        let file = try await download().value
        #expect(file.resumedAt == 0 && fixture.ranges == [nil, "bytes=1000-", nil])
    }
}
