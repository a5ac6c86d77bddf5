import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Cancels at every stage of a transfer: there is one outcome, and no file is left.
@Suite(.watchdog(atOnce: .few))
struct TransferCancellingTests {
    let fixture = TransferFixture()

    private func download(
        _ fixture: some Fixture, _ options: TransferOptions = .patient
    ) -> DownloadDataSource {
        DownloadDataSource(fixture.url(), to: fixture.file(), options: options, session: fixture.session)
    }

    @Test("O2, O5: cancelled before there is an answer, in its body, in that of a redirect or an error")
    func anywhere() async throws {
        let stub = StubFixture()
        let half = StubTransport.Answer.stalled(after: 1000, of: 2000)
        let heads = [(500, [:]), (302, ["Location": "/it"])].map { status, headers in
            StubTransport.Answer([.head(status, headers.merging(["Content-Length": "2000"]) { $1 })])
        }
        let arrived = Observations<Int64>()
        var options = TransferOptions.patient
        options.onProgress = { if $0.received == 1000 { arrived.note(1) } }
        for (index, answer) in ([half, .stalled, .init([.head(100)])] + heads).enumerated() {
            stub.serve("/it", answer)
            let request = download(stub, options).request(on: stub.queue)
            await stub.server.waitForRequests(underWay: 1)
            if index == 0 { await arrived.wait(for: 1) }
            request.cancel()
            // Nothing is awaited in between: the Deferred is settled and the files are removed when cancel()
            // returns.
            #expect(throws: CancellationError.self) { try request.currentResult?.get() }
            #expect(stub.names.isEmpty)
            await stub.server.waitUntilIdle()
        }
    }

    @Test("O2, O5: on Foundation's transport, a cancel closes the connection")
    func closesConnection() async throws {
        for answer in [Answer.stalled, .stalled(after: 1000, of: 2000), .interim(100, then: .stalled)] {
            fixture.server.route("/it", answer)
            let request = download(fixture).request(on: fixture.queue)
            await fixture.server.waitForRequests(underWay: 1)
            request.cancel()
            #expect(throws: CancellationError.self) { try request.currentResult?.get() }
            #expect(fixture.names.isEmpty)
            await fixture.server.waitUntilDisconnected()
        }
    }

    @Test("O2, O5: cancelled at the time of any fault, or of a success: one outcome, and files to match")
    func anyTime() async throws {
        let answers: [Answer] = [
            .pattern(100_000), .status(404), .truncated(after: 500, of: 1000), .reset(after: 500, of: 1000),
            .hungUp, .reset,
            .redirect(to: "/it"), .malformed, .badGzip, .headerFlood(500), .truncatedChunk, .endless,
            .resource(1000, etag: "\"a\""),
        ]
        for seed in seeds(150, "TransferCancellingTests.anyTime") {
            fixture.server.route("/it", answers[Int(seed % UInt64(answers.count))])
            let source = download(fixture)
            let request = source.request(on: fixture.queue)
            // A little work, of no fixed length, during which the transfer proceeds.
            var random = Seeded(state: seed)
            for _ in 0..<random.below(1 << 19) { _ = random.next() }
            if random.chance(50) { source.cancel() } else { request.cancel() }
            switch await request.result {
            case .success(let file):
                #expect(fixture.names == ["it"] && file.byteCount > 0)
                try FileManager.default.removeItem(at: fixture.file("it"))
            case .failure:
                #expect(fixture.names.isEmpty)
            }
        }
        await fixture.server.waitUntilIdle()
    }

    enum Limiter: CaseIterable { case list, semaphore, manager, queue }

    @Test(
        "C7: one cancel of 1,000 requests, of which 8 are in progress, sends no further one",
        arguments: Limiter.allCases)
    func counted(limiter: Limiter) async throws {
        let (started, connections) = (Observations<Int>(), DeferredSemaphore(8))
        let stub = StubFixture()
        stub.serve("/held", .stalled)
        let (url, session) = (stub.url("/held"), stub.session)
        stub.queue.maxConcurrentOperationCount = limiter == .queue ? 8 : 16
        let manager = DataSourceManager(limit: 8)
        let request = { @Sendable [queue = stub.queue] (number: Int) -> Deferred<Int> in
            started.note(number)
            return URLDataSource(url, options: .patient, session: session).request(on: queue).map {
                $0.data.count
            }
        }
        let list =
            switch limiter {
            case .list: DeferredList(0..<1000, limit: 8, request)
            case .queue: DeferredList((0..<1000).map(request))
            case .semaphore: DeferredList((0..<1000).map { number in connections.run { request(number) } })
            case .manager:
                DeferredList(
                    (0..<1000).map { _ in
                        manager.request(URLDataSource(url, options: .patient, session: session)).map {
                            $0.data.count
                        }
                    })
            }
        let all = list.results()
        await stub.server.waitForRequests(seen: 8)
        all.cancel()
        _ = await all.result
        try await manager.stop().value
        await withCheckedContinuation { drained in stub.queue.addBarrierBlock { drained.resume() } }
        await stub.server.waitUntilIdle()
        #expect(stub.server.requests.count == 8, "\(limiter)")
        if limiter == .list || limiter == .semaphore { #expect(started.all.count == 8) }
        #expect(connections.availableCount == 8 && connections.waitingCount == 0)
    }
}
