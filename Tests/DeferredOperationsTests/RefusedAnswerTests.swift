import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

/// Downloads whose answer is refused after some or all of its body has been received.
@Suite(.timeLimit(.minutes(5)))
struct RefusedAnswerTests {
    struct Refused: Error {}

    let fixture = TransferFixture()

    /// A download that the closure of its own options reads the metrics of.
    ///
    /// Sound as `@unchecked Sendable`: `source` is set before the transfer starts.
    private final class Watched: @unchecked Sendable {
        weak var source: DownloadDataSource?
    }

    /// Downloads `/it`. Answers with `X-Refused` are refused, and others accepted, once so many bytes of
    /// their body have been received.
    private func download(
        decidingAfter byteCount: Int64 = 0
    ) -> Deferred<DownloadDataSource.File> {
        let watched = Watched()
        var options = TransferOptions.patient
        options.validateResponse = { response in
            while let source = watched.source, source.metrics.received < byteCount { sched_yield() }
            guard response.value(forHTTPHeaderField: "X-Refused") != nil else { return }
            throw Refused()
        }
        let source = DownloadDataSource(
            fixture.url("/it"), to: fixture.file("it"), options: .init(resumes: true),
            transfer: options)
        watched.source = source
        return source.request(on: fixture.queue)
    }

    private func refused(_ byteCount: Int, etag: String) -> Answer {
        .bytes(
            Array(repeating: 7, count: byteCount),
            headers: [("X-Refused", "1"), ("ETag", etag), ("Last-Modified", "Sat, 01 Jan 2022 00:00:00 GMT")])
    }

    private func contents(_ name: String = "it") -> Data? { fixture.contents(name) }

    /// Leaves a part file of 400 bytes, from version 1.
    private func leavePart() async throws -> [Data?] {
        await expectFailure("truncated") {
            try await fixture.download(
                .resource(1000, etag: "\"v1\"", breakingOffAfter: 400), .init(resumes: true)
            ).value
        }
        let left = [contents("it.part"), contents("it.part.from")]
        #expect(left[0] == Data(Pattern.bytes(400)))
        return left
    }

    @Test("O5: a part file stays as it was when the answer to its continuation is refused")
    func partStays() async throws {
        let left = try await leavePart()
        fixture.server.route("/it", refused(2000, etag: "\"other\""))
        await #expect(throws: Refused.self) {
            try await download(decidingAfter: 2000).value
        }
        #expect([contents("it.part"), contents("it.part.from")] == left)
        fixture.server.route("/it", .resource(1000, etag: "\"v1\""))
        let file = try await download().value
        #expect(file.resumedAt == 400 && contents() == Data(Pattern.bytes(1000)))
    }

    @Test("O5: an answer that is accepted after its body has come is in the file, as far as it has come")
    func acceptedLate() async throws {
        let headers = [("ETag", "\"v1\"")]
        fixture.server.route("/it", .truncated(after: 2_500_000, of: 3_000_000, headers: headers))
        await #expect(throws: DataSourceError.self) {
            try await download(decidingAfter: 2_500_000).value
        }
        #expect(contents("it.part") == Data(Pattern.bytes(2_500_000)))
        fixture.server.route("/it", .resource(3_000_000, etag: "\"v1\""))
        let file = try await download(decidingAfter: 500_000).value
        #expect(file.resumedAt == 2_500_000 && file.byteCount == 3_000_000)
        #expect(contents() == Data(Pattern.bytes(3_000_000)))
    }

    @Test("O5: a part file stays as it was when the answer has another length than expected")
    func otherLength() async throws {
        let left = try await leavePart()
        let other = Answer.pattern(2000, headers: [("ETag", "\"other\"")])
        await expectFailure("unexpectedLength") {
            try await fixture.download(other, .init(resumes: true, expectedByteCount: 1000)).value
        }
        #expect([contents("it.part"), contents("it.part.from")] == left)
        await expectFailure("tooLarge") {
            try await fixture.download(
                other, .init(resumes: true),
                transfer: .init(maximumByteCount: 1500, silenceTimeout: .seconds(3600))
            ).value
        }
        #expect([contents("it.part"), contents("it.part.from")] == left)
    }

    @Test("O5: another resource that comes in place of the rest of a body is validated, too")
    func changedRest() async throws {
        let part = Answer.bytes(
            Array(Pattern.bytes(500)), status: 206,
            headers: [("ETag", "\"v1\""), ("Content-Range", "bytes 0-499/1000")])
        let other = refused(2000, etag: "\"other\"")
        fixture.server.route("/it") { $0[header: "Range"] == "bytes=0-999" ? part : other }
        var options = TransferOptions.patient
        options.validateResponse = { response in
            if response.value(forHTTPHeaderField: "X-Refused") != nil { throw Refused() }
        }
        await #expect(throws: Refused.self) {
            try await fixture.download(range: "bytes=0-999", .init(resumes: true), transfer: options).value
        }
        #expect(fixture.ranges == ["bytes=0-999", "bytes=500-999"])
        #expect(contents("it.part") == Data(Pattern.bytes(500)))
    }
}
