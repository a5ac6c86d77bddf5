import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

/// Answers that are a part of what was requested (206), and requests that ask for one.
@Suite(.timeLimit(.minutes(5)))
struct PartialContentTests {
    let fixture = TransferFixture()

    /// A 206 with bytes of the pattern that announces `range` of `total` and sends `sent` bytes of it.
    private func part(_ range: ClosedRange<Int>, of total: Int, sending sent: Int? = nil) -> Answer {
        .bytes(
            Pattern.bytes(sent ?? range.count, from: range.lowerBound), status: 206,
            headers: [
                ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound)/\(total)"),
                ("ETag", "\"a\""),
            ])
    }

    @Test("O5: a 206 that ends before the end of the whole is continued")
    func shortPart() async throws {
        await fixture.leavePart(50_000, of: 100_000)
        fixture.server.route(
            "/it", part(50_000...50_099, of: 100_000), part(50_100...50_100, of: 100_000),
            .resource(100_000, etag: "\"a\""))
        try await fixture.expectDownload(of: 100_000, resumedAt: 50_000)
        #expect(fixture.ranges == [nil, "bytes=50000-", "bytes=50100-", "bytes=50101-"])
    }

    @Test("O5: a 206 that is shorter than its Content-Range is truncated", arguments: [0, 100])
    func shortBody(_ sent: Int) async {
        await fixture.leavePart(500)
        await expectFailure("truncated", "truncated: \(sent) of 500 bytes") {
            try await fixture.download(part(500...999, of: 1000, sending: sent), .init(resumes: true)).value
        }
        #expect(fixture.names == ["it.part", "it.part.from"])
    }

    @Test("O5: a 206 that contradicts what the server sent before is malformed, and nothing is kept")
    func contradiction() async {
        await fixture.leavePart(500)
        await expectFailure("malformedResponse") {
            try await fixture.download(part(500...999, of: 2000), .init(resumes: true)).value
        }
        #expect(fixture.names.isEmpty && fixture.ranges == [nil, "bytes=500-"])
    }

    @Test(
        "O5: a part file is continued within the caller's own Range that it was started for, and for no other",
        arguments: [("bytes=1000-", 400), ("bytes=1000-1999", 400), ("bytes=0-999", 0)])
    func ownRange(_ range: String, _ resumedAt: Int64) async throws {
        let next = resumedAt == 0 ? "bytes=1000-1999" : range
        await fixture.leavePart(of: 2000, range: range)
        let whole = Answer.resource(2000, etag: "\"a\"")
        try await fixture.expectDownload(of: 1000, from: 1000, resumedAt: resumedAt, whole, range: next)
        let rest = next.replacingOccurrences(of: "1000", with: resumedAt == 0 ? "1000" : "1400")
        #expect(fixture.ranges.last == rest)
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
        await expectFailure("truncated") {
            try await fixture.download(unfinished, .init(resumes: true)).value
        }
        #expect(fixture.names == ["it.part", "it.part.from"])
    }

    @Test("O5: a complete part file is recognised by 416, and nothing is fetched again")
    func completePart() async throws {
        await leaveCompletePart()
        try await fixture.expectDownload(of: 1000, resumedAt: 1000, .resource(1000, etag: "\"a\""))
        #expect(fixture.server.requests.count == 2)
    }

    @Test("O5: a 416 for something else of the same length does not make a part file complete")
    func otherComplete() async throws {
        await leaveCompletePart()
        let headers = [("Content-Range", "bytes */1000"), ("ETag", "\"b\"")]
        fixture.server.route("/it", .status(416, headers: headers), .resource(1000, etag: "\"b\""))
        try await fixture.expectDownload(of: 1000)
        #expect(fixture.ranges == [nil, "bytes=1000-", nil])
    }
}
