import Deferred
import DeferredOperations
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// C7, counted by a server: one cancel of 1,000 requests, of which 8 are in progress, sends no further one.
@Suite(.timeLimit(.minutes(5)))
struct CancelledManyTests {
    let server: LoopbackServer
    let queue = OperationQueue()
    let started = Observations<Int>()

    init() throws {
        server = try LoopbackServer()
        server.route("/held", .stalled)
        // The semaphore, or the list, limits the requests.
        queue.maxConcurrentOperationCount = 16
    }

    private func request(_ number: Int) -> Deferred<Int> {
        started.note(number)
        return URLDataSource(URL(string: server.url("/held"))!, options: .patient).request(on: queue)
            .map { $0.data.count }
    }

    /// Cancels once the server has eight requests; returns how many more it has read when all has ended, and how many
    /// more were started.
    private func newRequests(afterCancelling deferred: Deferred<some Sendable>) async -> (
        read: Int, started: Int
    ) {
        await server.waitForRequests(seen: 8)
        let (read, begun) = (server.requests.count, started.all.count)
        deferred.cancel()
        _ = await deferred.result
        let (drained, resolver) = Deferred<Void>.withResolver()
        queue.addBarrierBlock { resolver.resolve() }
        _ = await drained.result
        await server.waitUntilIdle()
        let counts = (server.requests.count - read, started.all.count - begun)
        server.stop()
        return counts
    }

    @Test("C7: after a cancel, a list with a limit sends no further request")
    func limitedList() async {
        let list = DeferredList(0..<1000, limit: 8) { request($0) }
        let new = await newRequests(afterCancelling: list.results())
        #expect(new == (0, 0))
    }

    @Test("C7, Q-a: after a cancel of a list, a semaphore sends no further request")
    func semaphore() async {
        let connections = DeferredSemaphore(8)
        let all = (0..<1000).map { number in connections.run { request(number) } }
        let new = await newRequests(afterCancelling: DeferredList(all).results())
        #expect(new == (0, 0))
        #expect(connections.available == 8 && connections.waitingCount == 0)
    }
}
