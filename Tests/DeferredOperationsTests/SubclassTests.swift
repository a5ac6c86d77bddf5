import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// What a user can create and subclass (O10).
@Suite(.watchdog(atOnce: .few))
struct SubclassTests {
    private final class Page: URLDataSource, @unchecked Sendable {}
    private final class Values: JSONDataSource<[Int]>, @unchecked Sendable {}
    private final class Pieces: StreamDataSource, @unchecked Sendable {}
    private final class Copy: DownloadDataSource, @unchecked Sendable {}

    let fixture = TransferFixture()

    @Test("O10: a subclass without initializers is created as its superclass is")
    func initializers() async throws {
        fixture.server.route("/it", .json("[1, 2]"))
        let (url, queue) = (fixture.url("/it"), fixture.queue)
        #expect(try await Page(url).request(on: queue).value.data.text == "[1, 2]")
        #expect(try await Page(URLRequest(url: url)).request(on: queue).value.data.text == "[1, 2]")
        #expect(try await Values(url).request(on: queue).value == [1, 2])
        #expect(try await Copy(url, to: fixture.file("it")).request(on: queue).value.byteCount == 6)
        let pieces = Pieces(url)
        let request = pieces.request(on: queue)
        for try await piece in pieces.body { #expect(piece.count == 6) }
        #expect(try await request.value.byteCount == 6)
    }

    private final class Kept: StreamDataSource, @unchecked Sendable {
        override func execute() throws {
            finish(with: .success(Summary(response: .of("http://a", 200), byteCount: 3)))
        }
    }

    private final class Cached: DownloadDataSource, @unchecked Sendable {
        override func execute() throws {
            if downloadOptions.existing == .fail { finishWithOwn() }
            try super.execute()
        }

        func finishWithOwn() { finish(with: .success(File(url: destination, byteCount: 4))) }
    }

    @Test("O10: a success of a subclass's own stops the transfer, or has none begin")
    func ownSuccess() async throws {
        let fixture = StubFixture()
        fixture.serve("/it", .stalled(after: 1000, of: 2000))
        let early = Cached(fixture.url(), to: fixture.file("early"), session: fixture.session)
        #expect(try await early.request(on: fixture.queue).value.byteCount == 4)
        #expect(fixture.server.requests.isEmpty)

        try fixture.write("kept")
        let late = Cached(
            fixture.url(), to: fixture.file(), options: .patient, download: .init(existing: .replace),
            session: fixture.session)
        let request = late.request(on: fixture.queue)
        await fixture.server.waitForRequests(underWay: 1)
        late.finishWithOwn()
        #expect(try await request.value.byteCount == 4)
        #expect(late.metrics.ended != nil)
        // Its connection is closed, and what it wrote is gone.
        await fixture.server.waitUntilIdle()
        #expect(fixture.names == ["it"] && fixture.contents()?.text == "kept")
    }

    @Test("O10: a subclass finishes with a result of its own, without a transfer")
    func ownResults() async throws {
        let kept = Kept(fixture.url("/it"))
        #expect(try await kept.request(on: fixture.queue).value.byteCount == 3)
        // The head is that of the summary, and the body has an end.
        #expect(try await kept.head.value.statusCode == 200)
        for try await _ in kept.body { Issue.record("a piece of a body that was never received") }
        #expect(URLDataSource.Response(data: Data(), response: .of("http://a", 304)).isNotModified)
        #expect(DownloadDataSource.File(url: fixture.file(), byteCount: 2).wasKept)
        #expect(TransferMetrics(requestCount: 2).requestCount == 2)
        #expect(fixture.server.requests.isEmpty)
    }
}
