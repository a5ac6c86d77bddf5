import Deferred
import DeferredOperations
import Foundation
import TestSupport
import Testing

/// Many operations of all kinds, cancelled at random from several threads: each ends once, leaves its queue
/// and is freed.
@Suite(.ownThreads)
struct TortureTests {
    /// The number of live objects.
    final class Population: Sendable {
        private let births = Observations<Void>()
        let deaths = Observations<Void>()
        func noteBirth() { births.note(()) }
        func noteDeath() { deaths.note(()) }
        func untilAllAreGone() async { await deaths.wait(for: births.all.count) }
    }

    final class Quick: DataSource<Int>, @unchecked Sendable {
        let population: Population
        init(_ population: Population) {
            self.population = population
            population.noteBirth()
            super.init()
        }
        override func load() throws -> Int { 1 }
        deinit { population.noteDeath() }
    }

    final class Slow: ConcurrentDataSource<Int>, @unchecked Sendable {
        let population: Population
        let elsewhere: DispatchQueue
        init(_ population: Population, _ elsewhere: DispatchQueue) {
            self.population = population
            self.elsewhere = elsewhere
            population.noteBirth()
            super.init()
        }
        override func execute() throws { elsewhere.async { self.finish(with: .success(2)) } }
        deinit { population.noteDeath() }
    }

    @Test(
        "O1, O2: 10,000 operations with random cancels all end once, leave their queue and are freed",
        arguments: [false, true])
    func operations(_ areManaged: Bool) async throws {
        let seed = UInt64.random(in: .min ... .max)
        print("TortureTests.operations seed: \(seed)")
        let count = 10_000
        let population = Population()
        let endings = Observations<Bool>()
        try await run(count, seed, areManaged, population, endings)
        await population.untilAllAreGone()
        #expect(endings.all.count == count)
    }

    private func run(
        _ count: Int, _ seed: UInt64, _ areManaged: Bool, _ population: Population,
        _ endings: Observations<Bool>
    ) async throws {
        var random = Seeded(state: seed)
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 4
        let manager = DataSourceManager(limit: 4)
        let elsewhere = DispatchQueue(label: "elsewhere", attributes: .concurrent)
        let delivery = DispatchQueue(label: "delivery")
        let cancelling = DispatchQueue(label: "cancelling", attributes: .concurrent)
        var earlier: [RequestOperation<Int>] = []
        var requests: [Deferred<Void>] = []

        for index in 0..<count {
            // Other tests need this thread too.
            if index % 100 == 0 { await Task.yield() }
            let source: RequestOperation<Int> =
                Bool.random(using: &random) ? Quick(population) : Slow(population, elsewhere)
            source.queuePriority = [.low, .normal, .high].randomElement(using: &random)!
            if Int.random(in: 0..<5, using: &random) == 0,
                let dependency = earlier.randomElement(using: &random)
            {
                source.addDependency(dependency)
            }
            earlier.append(source)
            if earlier.count > 20 { earlier.removeFirst() }
            let dispatcher: (any Dispatcher)? = [nil, delivery, queue].randomElement(using: &random)!
            if Int.random(in: 0..<50, using: &random) == 0 { source.cancel() }
            let request =
                areManaged
                ? manager.request(source, deliveringOn: dispatcher)
                : source.request(on: queue, deliveringOn: dispatcher)
            let ended = request.both { (result: Result<Int, any Error>) -> Void in
                endings.note((try? result.get()) != nil)
            }
            requests.append(ended)
            switch Int.random(in: 0..<6, using: &random) {
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
        let seed = UInt64.random(in: .min ... .max)
        print("TortureTests.commotion seed: \(seed)")
        var random = Seeded(state: seed)
        let queue = OperationQueue()
        let population = Population()
        let endings = Observations<Bool>()
        let elsewhere = DispatchQueue(label: "elsewhere", attributes: .concurrent)
        let disturbing = DispatchQueue(label: "disturbing")
        var requests: [Deferred<Void>] = []
        for round in 0..<2000 {
            let source: RequestOperation<Int> =
                Bool.random(using: &random) ? Quick(population) : Slow(population, elsewhere)
            requests.append(
                source.request(on: queue).both { (result: Result<Int, any Error>) -> Void in
                    endings.note((try? result.get()) != nil)
                })
            switch Int.random(in: 0..<100, using: &random) {
            case 0: disturbing.async { queue.cancelAllOperations() }
            case 1..<5: disturbing.async { queue.isSuspended = true }
            case 5..<10: disturbing.async { queue.isSuspended = false }
            case 10..<20:
                let limit = Int.random(in: 1...8, using: &random)
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
        requests = []
        await population.untilAllAreGone()
        #expect(endings.all.count == 2000)
    }
}
