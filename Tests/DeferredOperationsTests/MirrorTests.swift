import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import LoopbackServer
import Testing

/// Several addresses of one file: when one fails, the next continues.
@Suite(.timeLimit(.minutes(5)))
struct MirrorTests {
    let fixture: TransferFixture

    init() throws { fixture = try TransferFixture() }

    /// Downloads what the first answers, with the others as mirrors.
    private func download(
        _ answers: [Answer], resumes: Bool = false, options: TransferOptions = .patient,
        verify: (@Sendable (URL) throws -> Void)? = nil
    ) -> Deferred<DownloadDataSource.File> {
        for (index, answer) in answers.enumerated() { fixture.server.route("/\(index)", answer) }
        let mirrors = answers.indices.dropFirst().map { fixture.url("/\($0)") }
        return fixture.download(
            path: "/0", .init(resumes: resumes, mirrors: mirrors, verify: verify), transfer: options)
    }

    private var contents: Data? { fixture.contents() }
    private var ranges: [String?] { fixture.ranges }

    private struct Wrong: Error {}

    /// Throws unless a file is the pattern.
    private let isPattern: @Sendable (URL) throws -> Void = { part in
        guard FileManager.default.contents(atPath: part.path) == Data(Pattern.bytes(1000)) else {
            throw Wrong()
        }
    }

    @Test("O5: each mirror continues where the one before it stopped", arguments: [false, true])
    func continues(_ resumes: Bool) async throws {
        let file = try await download(
            [
                .resource(1000, etag: "\"a\"", breakingOffAfter: 300),
                .resource(1000, etag: "\"b\"", breakingOffAfter: 300), .status(503), .resource(1000),
            ], resumes: resumes
        ).value
        #expect(file.byteCount == 1000 && contents == Data(Pattern.bytes(1000)))
        #expect(ranges == [nil, "bytes=300-", "bytes=600-", "bytes=600-"])
        #expect(fixture.server.requests.allSatisfy { $0[header: "If-Range"] == nil })
        #expect(fixture.names == ["it"])
    }

    @Test("O5: a mirror with another length or date is asked for the whole")
    func otherFile() async throws {
        let dates = ["Sat, 01 Jan 2022 00:00:00 GMT", "Sun, 02 Jan 2022 00:00:00 GMT"]
        for other in [Answer.resource(900, lastModified: dates[0]), .resource(1000, lastModified: dates[1])] {
            let file = try await download(
                [.resource(1000, lastModified: dates[0], breakingOffAfter: 300), other]
            ).value
            #expect(contents == Data(Pattern.bytes(Int(file.byteCount))))
            #expect(ranges.suffix(3) == [nil, "bytes=300-", nil])
            try FileManager.default.removeItem(at: fixture.file("it"))
        }
    }

    @Test("O5: the date that a mirror has to have is known through one that sends none")
    func dateBeforeLast() async throws {
        let dates = ["Sat, 01 Jan 2022 00:00:00 GMT", "Sun, 02 Jan 2022 00:00:00 GMT"]
        _ = try await download([
            .resource(1000, lastModified: dates[0], breakingOffAfter: 300),
            .resource(1000, breakingOffAfter: 300), .resource(1000, lastModified: dates[1]),
        ]).value
        #expect(ranges == [nil, "bytes=300-", "bytes=600-", nil])
    }

    @Test("O5: a mirror that does not know ranges sends the whole")
    func noRanges() async throws {
        let file = try await download([.resource(1000, breakingOffAfter: 300), .pattern(1000)]).value
        #expect(file.byteCount == 1000 && contents == Data(Pattern.bytes(1000)))
    }

    @Test("O5: where all mirrors fail, the last one's error is the outcome")
    func allFail() async throws {
        await expectFailure("status", "\(fixture.url("/2")): 404") {
            try await download([.status(500), .hungUp, .status(404)]).value
        }
        #expect(fixture.names.isEmpty)
    }

    @Test("O5: after a mirror whose file fails its verification, the next one is asked for the whole")
    func wrongContent() async throws {
        let wrong = Answer.bytes(Array(repeating: 7, count: 1000), headers: [("ETag", "\"a\"")])
        let file = try await download([wrong, .resource(1000, etag: "\"a\"")], verify: isPattern).value
        #expect(file.byteCount == 1000 && contents == Data(Pattern.bytes(1000)) && ranges == [nil, nil])
    }

    @Test(
        "O5: a file of parts from several mirrors that fails its verification is asked for again as a whole")
    func wrongPart() async throws {
        let wrong = Answer { exchange in
            try exchange.sendHead(200, [("ETag", "\"a\"")], contentLength: 1000)
            try exchange.send(Array(repeating: 7, count: 300))
            try exchange.hangUp()
        }
        let file = try await download([wrong, .resource(1000, etag: "\"b\"")], verify: isPattern).value
        #expect(file.byteCount == 1000 && contents == Data(Pattern.bytes(1000)))
        #expect(ranges == [nil, "bytes=300-", nil])
        try FileManager.default.removeItem(at: fixture.file("it"))
        // Once only.
        let always = download([wrong, .resource(1000, etag: "\"b\"")]) { _ in throw Wrong() }
        await #expect(throws: Wrong.self) { try await always.value }
        #expect(ranges.suffix(3) == [nil, "bytes=300-", nil] && fixture.names.isEmpty)
    }

    @Test("O5: a later download continues what any of the mirrors left")
    func resumed() async throws {
        await #expect(throws: DataSourceError.self) {
            try await download(
                [
                    .resource(1000, etag: "\"a\"", breakingOffAfter: 300),
                    .resource(1000, etag: "\"b\"", breakingOffAfter: 300),
                ],
                resumes: true
            ).value
        }
        #expect(fixture.names == ["it.part", "it.part.from"])
        let file = try await download(
            [.resource(1000, etag: "\"a\""), .resource(1000, etag: "\"b\"")], resumes: true
        ).value
        #expect(file.resumedAt == 600 && contents == Data(Pattern.bytes(1000)) && fixture.names == ["it"])
    }

    @Test("After a silent mirror the next one is asked, with the same time limit")
    func silent() async throws {
        let clock = ManualClock()
        let options = TransferOptions(silenceTimeout: .seconds(8), timer: clock)
        let request = download([.stalled, .stalled, .text("x")], options: options)
        for seen in 1...2 {
            await fixture.server.waitForRequests(seen: seen)
            for _ in 0..<9 { clock.advance(by: .seconds(1)) }
        }
        #expect(try await request.value.byteCount == 1)
    }

    @Test("Credentials are only sent to the host of the request, and mirrors must be http")
    func credentials() async throws {
        let other = try LoopbackServer()
        defer { other.stop() }
        other.route("/it", .text("fine"))
        fixture.server.route("/it", .status(500))
        var request = URLRequest(url: fixture.url("/it"))
        request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
        _ = try await DownloadDataSource(
            request, to: fixture.file("it"), options: .init(mirrors: [URL(string: other.url("/it"))!]),
            transfer: .patient
        ).request(on: fixture.queue).value
        #expect(fixture.server.requests[0][header: "Authorization"] == "Bearer secret")
        #expect(other.requests[0][header: "Authorization"] == nil)
        await expectFailure("invalidRequest") {
            try await DownloadDataSource(
                request, to: fixture.file("other"),
                options: .init(mirrors: [URL(string: "ftp://example.org/it")!]),
                transfer: .patient
            ).request(on: fixture.queue).value
        }
    }
}
