import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Downloads that continue a part file, with answers that are a part of the whole (206).
@Suite(.watchdog(atOnce: .few))
struct ResumedDownloadTests {
    let fixture = TransferFixture()

    enum Outcome {
        case whole(Int, resumedAt: Int64)
        case failure(String, String = "", keepsPart: Bool)
    }

    /// An answer that leaves a part file, what is answered to the next download, and what comes of that.
    struct Case: Sendable, CustomStringConvertible {
        let description: String
        let answers: [Answer]
        /// The ranges that the next download asks for; an empty one stands for the whole.
        let ranges: [String]
        let outcome: Outcome

        init(
            _ description: String, _ left: Answer = .resource(1000, etag: "\"a\"", breakingOffAfter: 400),
            then answers: [Answer], _ ranges: [String], _ outcome: Outcome
        ) {
            (self.description, self.answers) = (description, [left] + answers)
            (self.ranges, self.outcome) = (ranges, outcome)
        }
    }

    /// A 206 with bytes of the pattern that announces `range` of `total` and sends `sent` bytes of it.
    private static func part(
        _ range: ClosedRange<Int>, of total: Int = 1000, sending sent: Int? = nil, tag: String? = "\"a\""
    ) -> Answer {
        let content = "bytes \(range.lowerBound)-\(range.upperBound)/\(total)"
        return .bytes(
            Pattern.bytes(sent ?? range.count, from: range.lowerBound), status: 206,
            headers: [("Content-Range", content)] + (tag.map { [("ETag", $0)] } ?? []))
    }

    /// Sends all of the 1000 bytes, of a length that it has not announced, and breaks off after the last one.
    private static let complete = Answer { exchange in
        try exchange.sendHead(200, [("ETag", "\"a\""), ("Transfer-Encoding", "chunked")])
        try exchange.send("3e8\r\n")
        try exchange.sendPattern(0..<1000)
        try exchange.hangUp()
    }

    private static let (weak, date) = ("W/\"weak\"", "Sat, 01 Jan 2022 00:00:00 GMT")
    private static let whole = Answer.resource(1000, etag: "\"a\"")
    private static let other = Answer.resource(1000, etag: "\"b\"")
    private static let otherLength = Answer.status(
        416, headers: [("Content-Range", "bytes */1000"), ("ETag", "\"b\"")])

    private static let cases = [
        Case("the same thing, by its tag", then: [whole], ["bytes=400-"], .whole(1000, resumedAt: 400)),
        Case(
            "the same, by its date", .resource(1000, etag: weak, lastModified: date, breakingOffAfter: 400),
            then: [.resource(1000, etag: weak, lastModified: date)], ["bytes=400-"],
            .whole(1000, resumedAt: 400)),
        Case("less", then: [.resource(300, etag: "\"a\"")], ["bytes=400-", ""], .whole(300, resumedAt: 0)),
        Case("something else", then: [other], ["bytes=400-"], .whole(1000, resumedAt: 0)),
        Case(
            "206 that end before the end", then: [part(400...499), part(500...500), whole],
            ["bytes=400-", "bytes=500-", "bytes=501-"], .whole(1000, resumedAt: 400)),
        Case(
            "a 206 without its bytes", then: [part(400...999, sending: 0)], ["bytes=400-"],
            .failure("truncated", "0 of 600 bytes", keepsPart: true)),
        Case(
            "a 206 with some of its bytes", then: [part(400...999, sending: 100)], ["bytes=400-"],
            .failure("truncated", "100 of 600 bytes", keepsPart: true)),
        Case(
            "a 206 that contradicts what was sent before", then: [part(400...999, of: 2000)], ["bytes=400-"],
            .failure("malformedResponse", keepsPart: false)),
        Case(
            "a 206 without the tag, as of a server that ignores If-Range",
            then: [part(400...999, tag: nil), whole],
            ["bytes=400-", ""], .whole(1000, resumedAt: 0)),
        Case(
            "a 206 of something else", then: [part(400...999, tag: "\"b\""), other], ["bytes=400-", ""],
            .whole(1000, resumedAt: 0)),
        Case(
            "a 206 without the date", .resource(1000, lastModified: date, breakingOffAfter: 400),
            then: [part(400...999, tag: nil), whole], ["bytes=400-", ""], .whole(1000, resumedAt: 0)),
        Case(
            "a 206 with the date, and a tag that was not there before",
            .resource(1000, lastModified: date, breakingOffAfter: 400),
            then: [.resource(1000, etag: "\"new\"", lastModified: date)], ["bytes=400-"],
            .whole(1000, resumedAt: 400)),
        Case(
            "a 416: it is complete", complete, then: [whole], ["bytes=1000-"], .whole(1000, resumedAt: 1000)),
        Case(
            "a 416 of something else of the same length", complete, then: [otherLength, other],
            ["bytes=1000-", ""], .whole(1000, resumedAt: 0)),
    ]

    @Test(
        "O5: a part file is continued, kept, replaced or removed, as the next answers are", arguments: cases)
    func continued(_ row: Case) async throws {
        let asked = Observations<Void>()
        fixture.server.route("/it") { _ in
            asked.note(())
            return row.answers[min(asked.all.count, row.answers.count) - 1]
        }
        let part = ["it.part", "it.part.from"]
        await expectFailure("truncated") { try await fixture.download(.none, .init(resumes: true)).value }
        #expect(fixture.names == part)
        switch row.outcome {
        case .whole(let byteCount, let resumedAt):
            try await fixture.expectDownload(of: byteCount, resumedAt: resumedAt)
        case .failure(let name, let words, let keepsPart):
            await expectFailure(name, words) {
                try await fixture.download(.none, .init(resumes: true)).value
            }
            #expect(fixture.names == (keepsPart ? part : []))
        }
        #expect(fixture.ranges.dropFirst().map { $0 ?? "" } == row.ranges)
    }

    @Test("O5: without a validator there is nothing to resume, and no part file stays")
    func nothingToResume() async throws {
        await expectFailure("truncated") {
            try await fixture.download(.truncated(after: 10, of: 100), .init(resumes: true)).value
        }
        #expect(fixture.names.isEmpty)
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
}
