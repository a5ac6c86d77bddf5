import Deferred
import DeferredOperations
import DeferredTesting
import Foundation
import TestSupport
import Testing

@Suite(.ownThreads, .watchdog)
struct OperationCancellingTests {
    let queue = OperationQueue()

    /// The two ways to cancel a request, which have the same effect.
    enum Way: CaseIterable { case deferred, operation }

    private func cancel<Value>(_ operation: RequestOperation<Value>, _ request: Deferred<Value>, _ way: Way) {
        if way == .deferred { request.cancel() } else { operation.cancel() }
    }

    private func expectCancelled<Value>(
        _ request: Deferred<Value>, sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) {
        #expect(throws: CancellationError.self, sourceLocation: sourceLocation) {
            try request.currentResult?.get()
        }
    }

    /// Notes what is called, around what a test does then.
    private final class Noting: ConcurrentDataSource<Int>, @unchecked Sendable {
        let calls = Observations<String>()
        private let onExecute: @Sendable (Noting) -> Void
        private let onStop: @Sendable () -> Void
        init(
            onStop: @escaping @Sendable () -> Void = {}, onExecute: @escaping @Sendable (Noting) -> Void
        ) {
            (self.onExecute, self.onStop) = (onExecute, onStop)
            super.init()
        }
        override func execute() throws {
            calls.note("execute")
            onExecute(self)
            calls.note("executed")
        }
        override func stop() {
            onStop()
            calls.note("stop, finished: \(isFinished)")
        }
    }

    // MARK: Before it has started

    @Test("O2: cancelled in a suspended queue", arguments: Way.allCases)
    func suspended(_ way: Way) {
        queue.isSuspended = true
        let work = Observations<Int>()
        let source = DataSource { _ in work.note(1) }
        let request = source.request(on: queue)
        cancel(source, request, way)
        expectCancelled(request)
        #expect(source.isCancelled && !source.isFinished)
        queue.isSuspended = false
        queue.finishAll()
        #expect(source.isFinished && work.all.isEmpty)
    }

    @Test("O2: cancelled while waiting for a dependency", arguments: Way.allCases)
    func dependent(_ way: Way) {
        let (held, work) = (Deferred<Int>(), Observations<Int>())
        let first = ConcurrentDataSource(awaiting: { held })
        let firstRequest = first.request(on: queue)
        do {
            let source = DataSource { _ in work.note(1) }
            source.addDependency(first)
            let request = source.request(on: queue)
            cancel(source, request, way)
            expectCancelled(request)
            source.waitUntilFinished()
        }
        // Its consumers were released; finishing must not access them.
        held.resolve(7)
        queue.finishAll()
        #expect(work.all.isEmpty)
        #expect(try! firstRequest.currentResult?.get() == 7)
    }

    @Test("O2: an operation that was never requested may go before the one it depends on")
    func neverRequested() {
        let first = DataSource { _ in 1 }
        do {
            let second = DataSource { _ in 2 }
            second.addDependency(first)
        }
        let request = first.request(on: queue)
        queue.finishAll()
        #expect(try! request.currentResult?.get() == 1)
    }

    @Test("O2: cancelled before it is requested it ends at once, and operations that depend on it start")
    func beforeRequest() {
        queue.isSuspended = true
        let (source, next) = (DataSource { _ in 1 }, DataSource { _ in 2 })
        source.cancel()
        next.addDependency(source)
        let nextRequest = next.request(on: queue)
        expectCancelled(source.request(on: queue))
        queue.isSuspended = false
        queue.finishAll()
        #expect(try! nextRequest.currentResult?.get() == 2)
    }

    // MARK: While it runs

    @Test("O2: cancelled while load() runs: the operation ends later", arguments: Way.allCases)
    func loading(_ way: Way) {
        let (started, mayReturn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let source = DataSource { source in
            started.signal()
            mayReturn.wait()
            return source.isCancelled
        }
        let request = source.request(on: queue)
        started.wait()
        cancel(source, request, way)
        expectCancelled(request)
        #expect(!source.isFinished)
        mayReturn.signal()
        queue.finishAll()
        expectCancelled(request)
    }

    @Test("O2: cancelled while executing, stop() is called once", arguments: Way.allCases)
    func executing(_ way: Way) {
        let started = DispatchSemaphore(value: 0)
        let source = Noting { _ in started.signal() }
        let request = source.request(on: queue)
        started.wait()
        cancel(source, request, way)
        expectCancelled(request)
        queue.finishAll()
        #expect(source.finish(with: .success(1)) == false)
        source.cancel()
        request.cancel()
        #expect(source.calls.all == ["execute", "executed", "stop, finished: false"])
        expectCancelled(request)
    }

    @Test("O2: a cancel that comes while execute() runs calls stop() after it has returned")
    func whileStarting() {
        let source = Noting { $0.cancel() }
        let request = source.request(on: queue)
        queue.finishAll()
        expectCancelled(request)
        #expect(source.calls.all == ["execute", "executed", "stop, finished: false"])
    }

    @Test("O2: cancelled while execute() runs, the operation does not finish before stop() has returned")
    func finishedAfterStop() {
        let (started, wasCancelled) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let (stopping, cancelHasReturned) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let source = Noting(onStop: {
            stopping.signal()
            cancelHasReturned.wait()
        }) { _ in
            started.signal()
            wasCancelled.wait()
        }
        let request = source.request(on: queue).recover { _ -> Int in
            // The cancel settles the Deferred, and then returns, while the queue's thread is in `stop()`.
            wasCancelled.signal()
            stopping.wait()
            return 1
        }
        started.wait()
        source.cancel()
        cancelHasReturned.signal()
        queue.finishAll()
        #expect(source.calls.all == ["execute", "executed", "stop, finished: false"])
        #expect(try! request.currentResult?.get() == 1)
    }

    @Test("O2: the closure form's stop is called, and the resolver knows")
    func closureStop() {
        let (calls, kept) = (Observations<String>(), Observations<Deferred<Int>.Resolver>())
        let started = DispatchSemaphore(value: 0)
        let line = #line + 1
        let source = ConcurrentDataSource<Int>(stop: { calls.note("stop") }) { resolver in
            kept.note(resolver)
            started.signal()
        }
        let request = source.request(on: queue)
        started.wait()
        request.cancel()
        queue.finishAll()
        #expect(calls.all == ["stop"] && kept.all[0].isCancelled)
        expectCancelled(request)
        // The first result after a cancel is dropped, and another reported, with the place of the source.
        DeferredDiagnostics.withHandler({ calls.note("\($0)") }) { for _ in 0..<2 { kept.all[0].resolve(1) } }
        #expect(
            calls.all.count == 2 && calls.all[1].contains("OperationCancellingTests.swift:\(line)"),
            "\(calls.all)")
    }

    // MARK: After its outcome

    @Test("O2: cancelled when it has finished nothing changes", arguments: Way.allCases)
    func finished(_ way: Way) {
        let source = DataSource { _ in 1 }
        let request = source.request(on: queue)
        queue.finishAll()
        cancel(source, request, way)
        #expect(try! request.currentResult?.get() == 1)
        #expect(!source.isCancelled)
    }

    @Test("O2: an outcome that waits for its dispatcher stands", arguments: Way.allCases)
    func waitingForDispatcher(_ way: Way) async throws {
        let dispatcher = ManualDispatcher()
        // Not started before the outcome has been decided.
        queue.isSuspended = true
        let source = ConcurrentDataSource<Int>()
        let request = source.request(on: queue, deliveringOn: dispatcher)
        #expect(source.finish(with: .success(7)))
        cancel(source, request, way)
        #expect(!source.isCancelled)
        while dispatcher.runNext() {}
        queue.isSuspended = false
        #expect(try request.currentResult?.get() == 7)
    }

    /// What is cancelled below a request.
    enum Below: CaseIterable {
        case callback, secondCallback, follower, timeout, list, bag, twice
    }

    @Test(
        "C5: what is cancelled below an outcome that waits for its dispatcher ends, and the outcome stands",
        arguments: Below.allCases)
    func cancelledBelow(_ below: Below) throws {
        let (dispatcher, received, finalizers) = (
            ManualDispatcher(), Observations<Int>(), Observations<String>()
        )
        queue.isSuspended = true
        let source = ConcurrentDataSource<Int>()
        let request = source.request(on: queue, deliveringOn: dispatcher).finally { _ in
            finalizers.note("request")
        }
        let clock = ManualClock()
        let bag = CancelBag()
        let consumer: Deferred<Void>
        switch below {
        case .callback, .twice: consumer = request.done { received.note($0) }
        case .secondCallback: consumer = request.map { $0 + 1 }.done { received.note($0) }
        case .follower:
            let follower = Deferred<Int>()
            follower.follow(request)
            consumer = follower.done { received.note($0) }
        case .timeout:
            consumer = request.map { $0 }.timeout(.seconds(1), timer: clock).done { received.note($0) }
        case .list:
            consumer = DeferredList([request]).values().done { received.note($0[0]) }
        case .bag:
            consumer = request.done { received.note($0) }
            consumer.store(in: bag)
        }
        #expect(source.finish(with: .success(7)))
        switch below {
        case .bag: bag.cancelAll()
        case .timeout: clock.advance(by: Duration.seconds(2))
        case .twice:
            consumer.cancel()
            consumer.cancel()
        default: consumer.cancel()
        }
        #expect(finalizers.all.isEmpty)
        while dispatcher.runNext() {}
        queue.isSuspended = false
        queue.finishAll()
        #expect(received.all.isEmpty)
        #expect(try request.currentResult?.get() == 7)
        #expect(finalizers.all == ["request"])
        expectEnded(consumer, byTimeout: below == .timeout)
    }

    private func expectEnded(_ consumer: Deferred<Void>, byTimeout: Bool) {
        guard case .failure(let error)? = consumer.currentResult else {
            Issue.record("not failed: \(consumer)")
            return
        }
        #expect(byTimeout ? error as? DeferredError == .timedOut : error is CancellationError)
    }

    @Test(
        "C5: another consumer of an outcome that waits for its dispatcher receives it",
        arguments: [false, true])
    func cancelledBeside(_ isLast: Bool) throws {
        let (dispatcher, received) = (ManualDispatcher(), Observations<String>())
        queue.isSuspended = true
        let source = ConcurrentDataSource<Int>()
        let request = source.request(on: queue, deliveringOn: dispatcher)
        let (first, second) = (
            request.done { _ in received.note("first") }, request.done { _ in received.note("second") }
        )
        #expect(source.finish(with: .success(7)))
        first.cancel()
        if isLast { second.cancel() }
        while dispatcher.runNext() {}
        #expect(received.all == (isLast ? [] : ["second"]))
        expectEnded(first, byTimeout: false)
        if isLast { expectEnded(second, byTimeout: false) }
        #expect(try request.currentResult?.get() == 7)
        queue.isSuspended = false
    }

    @Test("F4: a dispatcher that releases an outcome whose consumer was cancelled leaves nothing pending")
    func releasedBelow() {
        let dispatcher = ManualDispatcher()
        queue.isSuspended = true
        let source = ConcurrentDataSource<Int>()
        let request = source.request(on: queue, deliveringOn: dispatcher)
        let consumer = request.done { _ in Issue.record("received") }
        #expect(source.finish(with: .success(7)))
        consumer.cancel()
        dispatcher.dropAll()
        queue.isSuspended = false
        queue.finishAll()
        expectEnded(consumer, byTimeout: false)
        #expect(request.isSettled)
    }
}
