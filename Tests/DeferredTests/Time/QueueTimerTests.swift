import Deferred
import Dispatch
import TestSupport
import Testing

@Suite("Timers of dispatch queues", .watchdog)
struct QueueTimerTests {
    @Test(
        "work is released when it has run, and at once when it is cancelled", .watchdog,
        arguments: [true, false])
    func released(isCancelled: Bool) async throws {
        weak var watched: AnyObject?
        do {
            let (ran, resolver) = Deferred<Void>.withResolver()
            let delay = isCancelled ? Duration.seconds(1_000_000) : .zero
            let pending = DispatchQueue.global().dispatch(after: delay) { resolver.resolve() }
            watched = pending as AnyObject
            if isCancelled { pending.cancel() } else { try await ran.value }
        }
        // The queue releases it asynchronously.
        while watched != nil { try await Deferred.after(.milliseconds(1)).value }
    }

    @Test("T1: a delay is rounded up to a nanosecond, whatever the size of an Int")
    func rounding() {
        let hour: UInt64 = 3_600_000_000_000
        let delay = Duration.seconds(3_600) + Duration(secondsComponent: 0, attosecondsComponent: 1)
        let time = DispatchTime(after: delay)
        let now = DispatchTime.now().uptimeNanoseconds
        #expect(time.uptimeNanoseconds > hour && time.uptimeNanoseconds <= now + hour + 1)
        #expect(DispatchTime(after: .seconds(-1)) <= .now())
        #expect(DispatchTime(after: .seconds(Int64.max)) == .distantFuture)
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
