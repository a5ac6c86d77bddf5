import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CancelledManyTests {
    enum Limiter: CaseIterable { case list, semaphore, manager }

    @Test(
        "C7: one cancel of 1,000 requests, of which 8 are in progress, sends no further one",
        arguments: Limiter.allCases)
    func counted(limiter: Limiter) async throws {
        let (fixture, started, connections) = (
            try TransferFixture(), Observations<Int>(), DeferredSemaphore(8)
        )
        fixture.server.route("/held", .stalled)
        let url = fixture.url("/held")
        // The list, the semaphore or the manager limits the requests.
        fixture.queue.maxConcurrentOperationCount = 16
        let manager = DataSourceManager(limit: 8)
        let request = { @Sendable [queue = fixture.queue] (number: Int) -> Deferred<Int> in
            started.note(number)
            return URLDataSource(url, options: .patient).request(on: queue).map { $0.data.count }
        }
        let list =
            switch limiter {
            case .list: DeferredList(0..<1000, limit: 8, request)
            case .semaphore: DeferredList((0..<1000).map { number in connections.run { request(number) } })
            case .manager:
                DeferredList(
                    (0..<1000).map { _ in
                        manager.request(URLDataSource(url, options: .patient)).map { $0.data.count }
                    })
            }
        let all = list.results()
        await fixture.server.waitForRequests(seen: 8)
        all.cancel()
        _ = await all.result
        try await manager.stop().value
        await withCheckedContinuation { drained in fixture.queue.addBarrierBlock { drained.resume() } }
        await fixture.server.waitUntilIdle()
        #expect(fixture.server.requests.count == 8 && started.all.count == (limiter == .manager ? 0 : 8))
        #expect(connections.available == 8 && connections.waitingCount == 0)
    }
}
