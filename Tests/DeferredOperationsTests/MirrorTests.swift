import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Several addresses of one file: when one fails, the next continues.
@Suite(.watchdog(atOnce: .few))
struct MirrorTests {
    let fixture = TransferFixture()

    /// Downloads what the first answers, with the others as mirrors.
    private func download(
        _ answers: [Answer], resumes: Bool = false, verify: (@Sendable (URL) throws -> Void)? = nil
    ) -> Deferred<DownloadDataSource.File> {
        for (index, answer) in answers.enumerated() { fixture.server.route("/\(index)", answer) }
        let mirrors = answers.indices.dropFirst().map { fixture.url("/\($0)") }
        return fixture.download(path: "/0", .init(resumes: resumes, mirrors: mirrors, verify: verify))
    }

    private struct Wrong: Error {}

    /// Throws unless a file is the pattern.
    private let isPattern: @Sendable (URL) throws -> Void = { part in
        guard FileManager.default.contents(atPath: part.path) == Data(Pattern.bytes(1000)) else {
            throw Wrong()
        }
    }

    @Test("O5: a mirror that has another file, or knows no ranges, sends the whole")
    func whole() async throws {
        let dates = ["Sat, 01 Jan 2022 00:00:00 GMT", "Sun, 02 Jan 2022 00:00:00 GMT"]
        let begun = Answer.resource(1000, lastModified: dates[0], breakingOffAfter: 300)
        let rows: [(answers: [Answer], ranges: [String?])] = [
            ([.pattern(1000)], []), ([.resource(900, lastModified: dates[0])], [nil]),
            ([.resource(1000, lastModified: dates[1])], [nil]),
            // The date that it has to have is known through one that sends none.
            (
                [.resource(1000, breakingOffAfter: 300), .resource(1000, lastModified: dates[1])],
                ["bytes=600-", nil]
            ),
        ]
        for (answers, expected) in rows {
            let before = fixture.ranges.count
            let file = try await download([begun] + answers).value
            #expect(fixture.isPattern(Int(file.byteCount)))
            let all: [String?] = [nil, "bytes=300-"] + expected
            #expect(Array(fixture.ranges[before...]) == all)
            try FileManager.default.removeItem(at: fixture.file())
        }
    }

    @Test("O5: after a mirror whose file fails its verification, the next one is asked for the whole")
    func wrongContent() async throws {
        let wrong = Answer.bytes(Array(repeating: 7, count: 1000), headers: [("ETag", "\"a\"")])
        _ = try await download([wrong, .resource(1000, etag: "\"a\"")], verify: isPattern).value
        #expect(fixture.isPattern(1000) && fixture.ranges == [nil, nil])
    }

    @Test("O5: a file of several mirrors' parts that fails its verification is requested as a whole")
    func wrongPart() async throws {
        let wrong = Answer { exchange in
            try exchange.sendHead(200, [("ETag", "\"a\"")], contentLength: 1000)
            try exchange.send(Array(repeating: 7, count: 300))
            try exchange.hangUp()
        }
        let answers = [wrong, .resource(1000, etag: "\"b\"")]
        _ = try await download(answers, verify: isPattern).value
        #expect(fixture.isPattern(1000) && fixture.ranges == [nil, "bytes=300-", nil])
        try FileManager.default.removeItem(at: fixture.file())
        // Once only.
        await #expect(throws: Wrong.self) { try await download(answers) { _ in throw Wrong() }.value }
        #expect(fixture.ranges.suffix(3) == [nil, "bytes=300-", nil] && fixture.names.isEmpty)
    }

    @Test("O5: what a mirror left, a later download continues at that mirror alone, and by its validator")
    func resumed() async throws {
        let (a, b) = ("\"a\"", "\"b\"")
        let breaking = [a, b].map { Answer.resource(1000, etag: $0, breakingOffAfter: 300) }
        await expectFailure("truncated") { try await download(breaking, resumes: true).value }
        #expect(fixture.names == ["it.part", "it.part.from"])
        let file = try await download([.status(500), .resource(1000, etag: b)], resumes: true).value
        #expect(file.resumedAt == 600 && fixture.isPattern(1000) && fixture.names == ["it"])
        #expect(fixture.ranges.suffix(2) == [nil, "bytes=600-"])
        #expect(fixture.server.requests.last?[header: "If-Range"] == b)
    }

    @Test("O5: what another address left before is not continued, though its length is the same")
    func otherAddress() async throws {
        let other = Answer { exchange in
            let range = exchange.request[header: "Range"].map { _ in ("Content-Range", "bytes 400-999/1000") }
            let byteCount = range == nil ? 1000 : 600
            try exchange.sendHead(
                range == nil ? 200 : 206, range.map { [$0] } ?? [], contentLength: byteCount)
            try exchange.send(Array(repeating: 7, count: byteCount))
        }
        fixture.server.route("/other", other)
        // The address that has left it is a mirror now, or fails.
        for paths in [["/other", "/it"], ["/it", "/other"]] {
            await fixture.leavePart()
            fixture.server.route("/it", .status(500))
            let options = DownloadOptions(resumes: true, mirrors: [fixture.url(paths[1])])
            let file = try await fixture.download(path: paths[0], options).value
            #expect(fixture.contents() == Data(repeating: 7, count: 1000) && file.resumedAt == 0)
            #expect(fixture.names == ["it"])
            try FileManager.default.removeItem(at: fixture.file())
        }
    }

    @Test("O5: without a validator no part file is left, also where there are mirrors")
    func noValidator() async throws {
        let answers = (0..<2).map { _ in Answer.truncated(after: 10, of: 100) }
        await expectFailure("truncated") { try await download(answers, resumes: true).value }
        #expect(fixture.names.isEmpty)
    }

    @Test("Credentials are only sent to the host of the request, and mirrors must be http")
    func credentials() async throws {
        fixture.server.route("/it", .status(500))
        fixture.server.route("/other", .text("fine"))
        var request = URLRequest(url: fixture.url("/it"))
        request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
        // Another name for the same host.
        for (mirror, isHTTP) in [
            ("http://localhost:\(fixture.server.port)/other", true), ("ftp://h/it", false),
        ] {
            let result = await DownloadDataSource(
                request, to: fixture.file(), options: .patient,
                download: .init(mirrors: [URL(string: mirror)!])
            ).request(on: fixture.queue).result
            #expect(((try? result.get()) != nil) == isHTTP, "\(result)")
        }
        #expect(fixture.server.requests.map { $0[header: "Authorization"] } == ["Bearer secret", nil])
    }
}
