import Deferred
import Dispatch
import Testing

@Suite("Timers of dispatch queues")
struct QueueTimerTests {
    @Test("cancelled work is released at once, not when it would have been due", .timeLimit(.minutes(5)))
    func cancelledGoes() async throws {
        weak var watched: AnyObject?
        do {
            let pending = DispatchQueue.global().dispatch(after: .seconds(1_000_000)) {}
            watched = pending as AnyObject
            pending.cancel()
        }
        // The queue releases it asynchronously.
        while watched != nil { try await Deferred.after(.milliseconds(1)).value }
    }

    @Test("work that has run is released, too", .timeLimit(.minutes(5)))
    func finishedGoes() async throws {
        weak var watched: AnyObject?
        do {
            let (ran, resolver) = Deferred<Void>.withResolver()
            let pending = DispatchQueue.global().dispatch(after: .zero) { resolver.resolve() }
            watched = pending as AnyObject
            try await ran.value
        }
        while watched != nil { try await Deferred.after(.milliseconds(1)).value }
    }

    @Test("work that is cancelled when it is due, while its queue is busy, does not run")
    func cancelledInQueue() throws {
        let queue = DispatchQueue(label: "suspended")
        queue.suspend()
        let isRun = SpinLocked(false)
        let pending = queue.dispatch(after: .zero) { isRun.withLock { $0 = true } }
        pending.cancel()
        pending.cancel()
        queue.resume()
        queue.sync {}
        #expect(isRun.withLock { $0 } == false)
    }

    @Test("work with the longest delay waits", arguments: [Duration.seconds(Int64.max), .seconds(9e9)])
    func longest(delay: Duration) throws {
        let later = Deferred.after(delay, value: 1)
        #expect(later.currentResult == nil)
        later.cancel()
        #expect(throws: CancellationError.self) { try later.wait() }
    }
}
