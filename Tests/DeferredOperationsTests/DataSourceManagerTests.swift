import Deferred
import Foundation
import TestSupport
import Testing

@testable import DeferredOperations

@Suite(.watchdog)
struct DataSourceManagerTests {
    /// Data sources that are executing until a test ends them.
    final class Held: ConcurrentDataSource<Int>, @unchecked Sendable {
        let number: Int
        let log: Observations<Int>
        init(_ number: Int, _ log: Observations<Int>) {
            self.number = number
            self.log = log
            super.init()
        }
        override func execute() throws { log.note(number) }
        func end() { finish(with: .success(number)) }
    }

    let log = Observations<Int>()

    private func held(_ count: Int) -> [Held] { (0..<count).map { Held($0, log) } }

    private func wait(until isSo: () -> Bool) async { while !isSo() { await Task.yield() } }

    @Test("At most four are in progress, the others wait in a queue; the limit may change")
    func limit() async {
        let manager = DataSourceManager()
        let sources = held(10)
        let requests = sources.map { manager.request($0) }
        await log.wait(for: 4)
        #expect(manager.inProgressCount == 4 && manager.waitingCount == 6 && Set(log.all) == [0, 1, 2, 3])
        sources[0].end()
        await log.wait(for: 5)
        #expect(log.all.last == 4 && manager.inProgressCount == 4)
        manager.limit = 6
        await log.wait(for: 7)
        manager.limit = 1
        for index in [1, 2, 3, 4, 5] { sources[index].end() }
        await wait { manager.inProgressCount == 1 }
        #expect(log.all.count == 7 && manager.waitingCount == 3)
        for index in 6..<10 {
            await log.wait(for: index + 1)
            sources[index].end()
        }
        for (index, request) in requests.enumerated() { #expect(try! await request.value == index) }
        // A place is free when the operation has finished, which is slightly later than the outcome.
        await wait { manager.inProgressCount == 0 }
        #expect(manager.waitingCount == 0)
    }

    @Test(
        "The highest priority is next, among equals the first requested; who waits for a dependency takes no place"
    )
    func order() async {
        let manager = DataSourceManager(limit: 1)
        let sources = held(6)
        sources[3].queuePriority = .high
        sources[1].queuePriority = .low
        sources[5].queuePriority = .high
        sources[5].addDependency(sources[1])
        let requests = sources.map { manager.request($0) }
        for (count, index) in [0, 3, 2, 4, 1, 5].enumerated() {
            await log.wait(for: count + 1)
            sources[index].end()
        }
        for request in requests { _ = try! await request.value }
        #expect(log.all == [0, 3, 2, 4, 1, 5])
    }

    @Test("O2: cancelled in line it ends at once, and its operation finishes without a place")
    func cancelled() async throws {
        let manager = DataSourceManager(limit: 1)
        let sources = held(4)
        sources[3].addDependency(sources[0])
        let requests = sources.map { manager.request($0) }
        await log.wait(for: 1)
        requests[1].cancel()
        sources[3].cancel()
        try #require(manager.waitingCount == 1)
        for index in [1, 3] {
            await #expect(throws: CancellationError.self) { try await requests[index].value }
            await wait { sources[index].isFinished }
        }
        #expect(manager.inProgressCount == 1)
        sources[0].end()
        await log.wait(for: 2)
        sources[2].end()
        #expect(try! await requests[2].value == 2)
        #expect(log.all == [0, 2])
    }

    @Test("A host has only so many places")
    func perHost() async throws {
        let (fixture, gate) = (StubFixture(), Deferred<Void>())
        fixture.serve("/it", .text("x").after(gate))
        let manager = DataSourceManager(limit: 6, limitPerHost: 2)
        let requests = (0..<8).map { index in
            let url = URL(string: "http://\(index < 4 ? "one" : "two").example/it")!
            return manager.request(URLDataSource(url, options: .patient, session: fixture.session))
        }
        await fixture.server.waitForRequests(underWay: 4)
        #expect(manager.inProgressCount == 4 && manager.waitingCount == 4)
        manager.limitPerHost = nil
        #expect(manager.inProgressCount == 6)
        gate.resolve()
        for request in requests { _ = try await request.value }
        await wait { manager.inProgressCount == 0 }
        // The places of the host are free again.
        manager.limitPerHost = 1
        let last = manager.request(
            URLDataSource(fixture.url(), options: .patient, session: fixture.session))
        try #require(manager.waitingCount == 0)
        _ = try await last.value
    }

    @Test("Whether the network is in use can be read, and each change is in a stream")
    func use() async {
        let manager = DataSourceManager(limit: 1)
        var uses = manager.networkUse.makeAsyncIterator()
        #expect(await uses.next() == false && !manager.isNetworkInUse)
        let sources = held(3)
        let requests = sources.map { manager.request($0) }
        #expect(await uses.next() == true && manager.isNetworkInUse)
        for index in 0..<3 {
            await log.wait(for: index + 1)
            sources[index].end()
        }
        for request in requests { _ = try! await request.value }
        #expect(await uses.next() == false)
        try! await manager.stop().value
        #expect(await uses.next() == nil)
    }

    @Test("Dropped streams of the network's use are released at once, whether its use changes or not")
    func droppedStreams() async {
        let use = NetworkUse()
        let kept = use.stream()
        for _ in 0..<100 { _ = use.stream() }
        #expect(use.queue.sync { use.listeners.count } == 1)
        use.note(false, isLast: true)
        #expect(await kept.reduce(into: []) { $0.append($1) } == [false])
    }

    @Test("stop() cancels everything, resolves when all has finished, and nothing more is taken")
    func stop() async {
        let manager = DataSourceManager(limit: 2)
        let sources = held(5)
        sources[4].addDependency(sources[3])
        let requests = sources.map { manager.request($0) }
        await log.wait(for: 2)
        try! await manager.stop().value
        #expect(sources.allSatisfy { $0.isFinished && $0.isCancelled } && log.all.count == 2)
        for request in requests { await #expect(throws: CancellationError.self) { try await request.value } }
        await #expect(throws: DataSourceError.self) { try await manager.request(Held(9, log)).value }
        try! await manager.stop().value
        try! await DataSourceManager().stop().value
    }
}
