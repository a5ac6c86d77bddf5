import Deferred
import Dispatch
import Testing

@Suite("Timers of dispatch queues")
struct QueueTimerTests {
    @Test("what is cancelled goes at once, not when it would have been due", .timeLimit(.minutes(5)))
    func cancelledGoes() async throws {
        weak var watched: AnyObject?
        do {
            let pending = DispatchQueue.global().dispatch(after: .seconds(1_000_000)) {}
            watched = pending as AnyObject
            pending.cancel()
        }
        // The queue lets go of it in its own time.
        while watched != nil { try await Deferred.after(.milliseconds(1)).value }
    }

    @Test("what has run goes, too", .timeLimit(.minutes(5)))
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

    @Test("what is cancelled when it is due and its queue has no time for it does not run")
    func cancelledInQueue() throws {
        let queue = DispatchQueue(label: "suspended")
        queue.suspend()
        let isRun = Guarded(false)
        let pending = queue.dispatch(after: .zero) { isRun.withLock { $0 = true } }
        pending.cancel()
        pending.cancel()
        queue.resume()
        queue.sync {}
        #expect(isRun.withLock { $0 } == false)
    }

    @Test("the longest delay there is waits", arguments: [Duration.seconds(Int64.max), .seconds(9e9)])
    func longest(delay: Duration) throws {
        let later = Deferred.after(delay, value: 1)
        #expect(later.currentResult == nil)
        later.cancel()
        #expect(throws: CancellationError.self) { try later.wait() }
    }
}
