import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import TestSupport
import Testing

@Suite(.ownThreads, .watchdog)
struct OperationTests {
    let queue = OperationQueue()

    @Test("What a closure throws is the outcome; a subclass that overrides nothing says so")
    func throwing() async throws {
        struct Broken: Error {}
        for source in [
            DataSource<Int> { _ in throw Broken() } as RequestOperation<Int>,
            ConcurrentDataSource { (_: Deferred<Int>.Resolver) in throw Broken() },
        ] {
            await #expect(throws: Broken.self) { try await source.request(on: queue).value }
        }
        for source in [DataSource<Int>() as RequestOperation<Int>, ConcurrentDataSource<Int>()] {
            await #expect(throws: DataSourceError.self) { try await source.request(on: queue).value }
        }
    }

    @Test("A second request of one operation fails and leaves the first alone")
    func requestedTwice() async throws {
        queue.isSuspended = true
        let source = DataSource { _ in 1 }
        let first = source.request(on: queue)
        await #expect(throws: DataSourceError.self) { try await source.request(on: queue).value }
        queue.isSuspended = false
        #expect(try await first.value == 1)
        let started = DataSource { _ in 1 }
        started.start()
        await expectFailure(nil, "requested or started before") { try await started.request(on: queue).value }
    }

    @Test("queue.deferred runs on the queue, in the plain and in the nested form")
    func deferToQueue() async throws {
        #expect(try await queue.deferred { OperationQueue.current === queue }.value)
        let nested: Deferred<Int> = queue.deferredFollowing { Deferred.resolved(3) }
        #expect(try await nested.value == 3)
    }

    @Test("C3: cancelling queue.deferredFollowing cancels what the closure returned, unless that is shared")
    func cancelOfShared() throws {
        for isShared in [true, false] {
            let wasCancelled = Deferred<Void>()
            let shared = Deferred<Int>(canceller: { _ in wasCancelled.resolve() })
            let other = isShared ? shared.map { $0 } : nil
            let requested = Deferred<Void>()
            let following = queue.deferredFollowing { () -> Deferred<Int> in
                requested.resolve()
                return shared
            }
            try requested.wait()
            following.cancel()
            #expect(throws: CancellationError.self) { try following.wait() }
            queue.finishAll()
            #expect(wasCancelled.isSettled != isShared)
            shared.resolve(5)
            #expect(try other?.wait() == (isShared ? 5 : nil))
        }
    }

    @Test("An operation queue is a dispatcher; work that it drops ends in .abandoned")
    func dispatcher() throws {
        let seen = Deferred.resolved(1).map(on: queue) { _ in OperationQueue.current === queue }
        queue.finishAll()
        #expect(try seen.currentResult?.get() == true)

        queue.isSuspended = true
        let dropped = Deferred.resolved(1).map(on: queue) { $0 }
        queue.cancelAllOperations()
        queue.isSuspended = false
        // The queue may release the work later than the operation finishes.
        #expect(throws: DeferredError.abandoned) { try dropped.wait() }
    }

    // MARK: O1

    @Test("O1: the synchronous chain has run when waitUntilAllOperationsAreFinished returns")
    func deliveredBeforeFinished() {
        let elsewhere = DispatchQueue(label: "elsewhere")
        let otherQueue = OperationQueue()
        for dispatcher: (any Dispatcher)? in [nil, elsewhere, otherQueue, queue, InlineDispatcher()] {
            for source in [
                DataSource { _ in 1 } as RequestOperation<Int>, ConcurrentDataSource { $0.resolve(1) },
            ] {
                let seen = Observations<String>()
                queue.isSuspended = true
                source.request(on: queue, deliveringOn: dispatcher)
                    .map { value -> Int in
                        seen.note("first, finished: \(source.isFinished)")
                        return value
                    }
                    .done { _ in seen.note("second, finished: \(source.isFinished)") }
                queue.isSuspended = false
                queue.finishAll()
                #expect(seen.all == ["first, finished: false", "second, finished: false"])
                #expect(source.isFinished && !source.isExecuting)
            }
        }
    }

    @Test("O1: callbacks run on the dispatcher asked for, a cancel's too")
    func deliveredOnDispatcher() async throws {
        let key = DispatchSpecificKey<Bool>()
        let elsewhere = DispatchQueue(label: "elsewhere")
        elsewhere.setSpecific(key: key, value: true)
        let isThere: @Sendable () -> Bool = { DispatchQueue.getSpecific(key: key) == true }
        let source = DataSource { _ in 1 }
        queue.isSuspended = true
        let delivered = source.request(on: queue, deliveringOn: elsewhere).map { _ in isThere() }
        queue.isSuspended = false
        #expect(try await delivered.value)

        queue.isSuspended = true
        for cancelsOperation in [false, true] {
            let waiting = DataSource { _ in 1 }
            let request = waiting.request(on: queue, deliveringOn: elsewhere)
            let seen = request.mapResult { _ in isThere() }
            if cancelsOperation { waiting.cancel() } else { seen.cancel() }
            #expect(try await seen.value)
        }
        // In swift-corelibs-foundation, a queue and its waiting operations retain each other.
        queue.isSuspended = false
    }

    @Test("O1: delivery on a queue that has only the operation's own place does not wait for another")
    func deliveredInOwnPlace() {
        queue.maxConcurrentOperationCount = 1
        let seen = DataSource { _ in 1 }.request(on: queue, deliveringOn: queue).map { $0 + 1 }
        let nested = ConcurrentDataSource { $0.resolve(1) }.request(on: queue, deliveringOn: queue).map {
            $0 + 2
        }
        queue.finishAll()
        #expect(try! seen.currentResult?.get() == 2)
        #expect(try! nested.currentResult?.get() == 3)
    }

    @Test("O1: a dispatcher that drops the delivery ends the Deferred and the operation")
    func droppedDelivery() {
        let ended = DataSource { _ in 1 }.request(on: queue, deliveringOn: DroppingDispatcher())
        queue.finishAll()
        #expect(throws: DeferredError.abandoned) { try ended.wait() }
    }

    // MARK: What a queue does with operations

    @Test("Priorities, dependencies and the queue's limit decide the order")
    func order() {
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = true
        let seen = Observations<Int>()
        let sources = (0..<4).map { index in DataSource { _ in seen.note(index) } }
        sources[3].queuePriority = .veryHigh
        sources[0].addDependency(sources[2])
        let requests = sources.map { $0.request(on: queue) }
        queue.isSuspended = false
        queue.finishAll()
        #expect(seen.all == [3, 1, 2, 0])
        #expect(requests.allSatisfy { $0.currentResult != nil })
    }

    @Test("A1: whatever calls the closure does not retain the handle that it returns")
    func abandonedByClosures() async {
        let (cache, latest) = (DeferredCache<Int, Int>(), DeferredLatest())
        let lockFile = FileManager.default.temporaryDirectory.appendingPathComponent("lock-\(UUID())")
        let filesystemLock = DeferredFilesystemLock(path: lockFile.path)
        let never = { @Sendable () -> Deferred<Int> in Deferred() }
        let outcomes: [(String, Deferred<Int>)] = [
            ("then", Deferred.resolved(1).then { _ in never() }),
            ("operation", ConcurrentDataSource(awaiting: never).request(on: queue)),
            ("resolver", ConcurrentDataSource { (_: Deferred<Int>.Resolver) in }.request(on: queue)),
            ("operation queue", queue.deferredFollowing(never)),
            ("dispatch queue", DispatchQueue.global().deferredFollowing(never)),
            ("semaphore", DeferredSemaphore(1).run(never)), ("lock", DeferredLock().run(never)),
            ("file lock", filesystemLock.run(never)), ("latest", latest.run(never)),
            ("retry", Deferred.retry(attempts: 2, delay: .none, never)),
            ("repeating", Deferred.repeating(every: .seconds(1), never).thenReturn(1)),
            ("cache", cache.value(for: 1, never)),
            ("list", DeferredList([1], limit: 1) { _ in never() }.values().thenReturn(1)),
        ]
        for (name, outcome) in outcomes {
            await #expect(throws: DeferredError.abandoned, "\(name)") { try await outcome.value }
        }
        queue.finishAll()
        try? FileManager.default.removeItem(at: lockFile)
    }
}
