import Deferred
import DeferredOperations
import Foundation
import TestSupport
import Testing

/// Many operations of all kinds, cancelled at random from several threads: each ends once, leaves its queue
/// and is freed.
@Suite(.ownThreads, .watchdog)
struct TortureTests {
    private final class Quick: DataSource<Int>, @unchecked Sendable {
        let tracked: LeakTracker.Tracked
        init(_ tracked: LeakTracker.Tracked) {
            self.tracked = tracked
            super.init()
        }
        override func load() throws -> Int { 1 }
    }

    private final class Slow: ConcurrentDataSource<Int>, @unchecked Sendable {
        let tracked: LeakTracker.Tracked
        init(_ tracked: LeakTracker.Tracked) {
            self.tracked = tracked
            super.init()
        }
        override func execute() throws { DispatchQueue.global().async { self.finish(with: .success(2)) } }
    }

    private let live = LeakTracker()
    private let endings = Observations<Bool>()

    private func source(_ random: inout Seeded) -> RequestOperation<Int> {
        random.chance(50) ? Quick(live.begin()) : Slow(live.begin())
    }

    private func noted(_ request: Deferred<Int>) -> Deferred<Void> {
        request.both { [endings] (result: Result<Int, any Error>) -> Void in
            endings.note((try? result.get()) != nil)
        }
    }

    /// Runs `body` with numbers that a printed seed determines, and waits until its operations are freed.
    private func expectEndings(_ count: Int, _ body: (inout Seeded) async throws -> Void) async throws {
        var random = Seeded(state: seeds(1, "TortureTests").lowerBound)
        try await body(&random)
        while live.alive > 0 { await Task.yield() }
        #expect(endings.all.count == count)
    }

    @Test("O1, O2: many operations with random cancels end once", arguments: [false, true])
    func operations(_ areManaged: Bool) async throws {
        let count = 5 * Extent.rounds
        try await expectEndings(count) { try await run(count, areManaged, &$0) }
    }

    private func run(_ count: Int, _ areManaged: Bool, _ random: inout Seeded) async throws {
        let (queue, manager) = (OperationQueue(), DataSourceManager(limit: 4))
        queue.maxConcurrentOperationCount = 4
        let delivery = DispatchQueue(label: "delivery")
        let cancelling = DispatchQueue(label: "cancelling", attributes: .concurrent)
        var earlier: [RequestOperation<Int>] = []
        var requests: [Deferred<Void>] = []
        for index in 0..<count {
            // Other tests need this thread too.
            if index % 100 == 0 { await Task.yield() }
            let source = source(&random)
            source.queuePriority = [.low, .normal, .high].randomElement(using: &random)!
            if random.chance(20), let dependency = earlier.randomElement(using: &random) {
                source.addDependency(dependency)
            }
            earlier.append(source)
            if earlier.count > 20 { earlier.removeFirst() }
            let dispatcher: (any Dispatcher)? = [nil, delivery, queue].randomElement(using: &random)!
            if random.chance(2) { source.cancel() }
            let request =
                areManaged
                ? manager.request(source, deliveringOn: dispatcher)
                : source.request(on: queue, deliveringOn: dispatcher)
            requests.append(noted(request))
            switch random.below(6) {
            case 0: cancelling.async { request.cancel() }
            case 1: cancelling.async { source.cancel() }
            case 2: request.cancel()
            default: break
            }
        }
        for request in requests { try await request.value }
        if areManaged { try await manager.stop().value }
        // Operations that ended before they were started are still in the queue.
        let (emptied, resolver) = Deferred<Void>.withResolver()
        queue.addBarrierBlock { resolver.resolve() }
        try await emptied.value
    }

    @Test("O2: cancelAllOperations, suspending and adding at the same time")
    func commotion() async throws {
        try await expectEndings(Extent.rounds) { random in
            let (queue, disturbing) = (OperationQueue(), DispatchQueue(label: "disturbing"))
            var requests: [Deferred<Void>] = []
            for round in 0..<Extent.rounds {
                requests.append(noted(source(&random).request(on: queue)))
                switch random.below(100) {
                case 0: disturbing.async { queue.cancelAllOperations() }
                case 1..<5: disturbing.async { queue.isSuspended = true }
                case 5..<10: disturbing.async { queue.isSuspended = false }
                case 10..<20:
                    let limit = 1 + random.below(8)
                    disturbing.async { queue.maxConcurrentOperationCount = limit }
                default: break
                }
                if round % 100 == 99 {
                    disturbing.async { queue.isSuspended = false }
                    await Task.yield()
                }
            }
            disturbing.async { queue.isSuspended = false }
            for request in requests { try await request.value }
        }
    }
}
