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
        decidingAfter byteCount: Int64 = 0, range: String? = nil
    ) -> Deferred<DownloadDataSource.File> {
        let watched = Watched()
        var options = TransferOptions.patient
        options.validateResponse = { response in
            while let source = watched.source, source.metrics.received < byteCount { sched_yield() }
            if response.value(forHTTPHeaderField: "X-Refused") != nil { throw Refused() }
        }
        var request = URLRequest(url: fixture.url())
        request.setValue(range, forHTTPHeaderField: "Range")
        let source = DownloadDataSource(
            request, to: fixture.file(), options: .init(resumes: true), transfer: options)
        watched.source = source
        return source.request(on: fixture.queue)
    }

    private let refused = Answer.pattern(2000, headers: [("X-Refused", "1"), ("ETag", "\"other\"")])

    @Test(
        "O5: a part file stays as it was when the answer to its continuation is refused, or of a wrong length"
    )
    func partStays() async throws {
        await fixture.leavePart()
        let record = fixture.contents("it.part.from")
        func expectPart() {
            #expect(fixture.isPattern(400, "it.part") && fixture.contents("it.part.from") == record)
        }
        fixture.server.route("/it", refused)
        await #expect(throws: Refused.self) { try await download(decidingAfter: 2000).value }
        expectPart()
        await expectFailure("unexpectedLength") {
            try await fixture.download(.none, .init(resumes: true, expectedByteCount: 1000)).value
        }
        expectPart()
        let limited = TransferOptions(maximumByteCount: 1500, silenceTimeout: .seconds(3600))
        await expectFailure("tooLarge") {
            try await fixture.download(.none, .init(resumes: true), transfer: limited).value
        }
        expectPart()
        try await fixture.expectDownload(of: 1000, resumedAt: 400, .resource(1000, etag: "\"a\""))
    }

    @Test("O5: an answer that is accepted after its body has come is in the file, as far as it has come")
    func acceptedLate() async throws {
        let headers = [("ETag", "\"v1\"")]
        fixture.server.route("/it", .truncated(after: 2_500_000, of: 3_000_000, headers: headers))
        await expectFailure("truncated") { try await download(decidingAfter: 2_500_000).value }
        #expect(fixture.isPattern(2_500_000, "it.part"))
        fixture.server.route("/it", .resource(3_000_000, etag: "\"v1\""))
        #expect(try await download(decidingAfter: 500_000).value.resumedAt == 2_500_000)
        #expect(fixture.isPattern(3_000_000))
    }

    @Test("O5: another resource that comes in place of the rest of a body is validated, too")
    func changedRest() async throws {
        let headers = [("ETag", "\"v1\""), ("Content-Range", "bytes 0-499/1000")]
        let (part, refused) = (Answer.bytes(Pattern.bytes(500), status: 206, headers: headers), refused)
        fixture.server.route("/it") { $0[header: "Range"] == "bytes=0-999" ? part : refused }
        await #expect(throws: Refused.self) { try await download(range: "bytes=0-999").value }
        #expect(fixture.ranges == ["bytes=0-999", "bytes=500-999"])
        #expect(fixture.isPattern(500, "it.part"))
    }
}
