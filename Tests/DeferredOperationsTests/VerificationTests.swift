import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Downloads whose head, length and content are checked before they are moved into place.
@Suite(.watchdog(atOnce: .few))
struct VerificationTests {
    let fixture = TransferFixture()

    private let answer = Answer.resource(100, etag: "\"a\"")

    private func download(
        _ answer: Answer, resumes: Bool = false, verify: (@Sendable (URL) throws -> Void)? = nil
    ) -> Deferred<DownloadDataSource.File> {
        fixture.download(answer, .init(resumes: resumes, verify: verify))
    }

    /// Stands for a user's hash: the sum of all bytes.
    private static func checkSum(_ file: URL, is expected: String) throws {
        let sum = try Data(contentsOf: file).reduce(0) { $0 + Int($1) }
        guard "\(sum)" == expected else {
            throw DataSourceError.checksumMismatch(file, expected: expected, actual: "\(sum)")
        }
    }

    @Test("O5: a finished part file is verified before it is moved into place")
    func verified() async throws {
        let (destination, seen) = (fixture.file(), Observations<Bool>())
        let verify = { @Sendable (part: URL) in
            seen.note(FileManager.default.fileExists(atPath: destination.path))
            try Self.checkSum(part, is: "4950")
        }
        try await fixture.expectDownload(of: 100, answer, .init(verify: verify))
        #expect(seen.all == [false])
    }

    @Test("O5: a verification that changes the part file's length is an error", arguments: [80, 120])
    func changed(_ length: Int) async throws {
        await expectFailure(nil, "the part file had 100 bytes and has \(length) after its verification") {
            try await download(answer, resumes: true) { try Data(count: length).write(to: $0) }.value
        }
        #expect(fixture.names.isEmpty)
    }

    @Test("O5: a resumed download is verified as a whole, and removed if it is wrong")
    func resumed() async throws {
        await fixture.leavePart()
        let lengths = Observations<Int>()
        await expectFailure("checksumMismatch", ", where 1 was expected") {
            try await download(.resource(1000, etag: "\"a\""), resumes: true) { part in
                lengths.note(try Data(contentsOf: part).count)
                try Self.checkSum(part, is: "1")
            }.value
        }
        #expect(lengths.all == [1000] && fixture.names.isEmpty)
    }

    @Test("O2: cancelled while the file is verified, it leaves nothing, and the result is ignored")
    func cancelled() async throws {
        let (started, mayReturn) = (Observations<Void>(), DispatchSemaphore(value: 0))
        let ended = Observations<Void>()
        let request = download(answer) { _ in
            started.note(())
            mayReturn.wait()
            ended.note(())
        }
        await started.wait(for: 1)
        request.cancel()
        #expect(throws: CancellationError.self) { try request.currentResult?.get() }
        #expect(fixture.names.isEmpty)
        mayReturn.signal()
        await ended.wait(for: 1)
        #expect(fixture.names.isEmpty)
    }

    @Test("O5: a download of another length than expected is an error, announced or not")
    func unexpectedLength() async throws {
        for length in [99, 101, 100] {
            for answer in [Answer.pattern(length), .chunked([Pattern.bytes(length)])] {
                let options = DownloadOptions(existing: .replace, expectedByteCount: 100)
                let result = await fixture.download(answer, options).result
                if case .failure(DataSourceError.unexpectedLength(_, expected: 100, let actual)) = result {
                    #expect(actual == length)
                }
                #expect(fixture.names == (length == 100 ? ["it"] : []), "\(result)")
            }
        }
    }

    // MARK: Answers that are refused after some or all of their body has been received

    /// A download that the closure of its own options reads the metrics of.
    ///
    /// Sound as `@unchecked Sendable`: `source` is set before the transfer starts.
    private final class Watched: @unchecked Sendable {
        weak var source: DownloadDataSource?
    }

    /// Downloads `/it`. Answers with `X-Refused` are refused, and others accepted, once so many bytes of
    /// their body have been received.
    private func validated(
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
            request, to: fixture.file(), options: options, download: .init(resumes: true))
        watched.source = source
        return source.request(on: fixture.queue)
    }

    private struct Refused: Error {}
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
        await #expect(throws: Refused.self) { try await validated(decidingAfter: 2000).value }
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
        await expectFailure("truncated") { try await validated(decidingAfter: 2_500_000).value }
        #expect(fixture.isPattern(2_500_000, "it.part"))
        fixture.server.route("/it", .resource(3_000_000, etag: "\"v1\""))
        #expect(try await validated(decidingAfter: 500_000).value.resumedAt == 2_500_000)
        #expect(fixture.isPattern(3_000_000))
    }

    @Test("O5: another resource that comes in place of the rest of a body is validated, too")
    func changedRest() async throws {
        let headers = [("ETag", "\"v1\""), ("Content-Range", "bytes 0-499/1000")]
        let (part, refused) = (Answer.bytes(Pattern.bytes(500), status: 206, headers: headers), refused)
        fixture.server.route("/it") { $0[header: "Range"] == "bytes=0-999" ? part : refused }
        await #expect(throws: Refused.self) { try await validated(range: "bytes=0-999").value }
        #expect(fixture.ranges == ["bytes=0-999", "bytes=500-999"])
        #expect(fixture.isPattern(500, "it.part"))
    }
}
