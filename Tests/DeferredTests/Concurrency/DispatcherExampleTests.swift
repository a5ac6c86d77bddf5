import Deferred
import DeferredTesting
import Dispatch
import Testing

/// Dispatchers of a user's own.
@Suite("Dispatchers of one's own")
struct DispatcherExampleTests {
    /// An actor whose work runs isolated to it.
    actor Account: Dispatcher {
        private(set) var balance = 0

        func deposit(_ amount: Int) { balance += amount }

        nonisolated func dispatch(_ work: @escaping @Sendable () -> Void) {
            Task { await run(work) }
        }

        private func run(_ work: @Sendable () -> Void) { work() }
    }

    @Test("an actor is a dispatcher: callbacks run isolated to it")
    func onActor() async throws {
        let account = Account()
        let source = Deferred<Int>()
        let deposited = source.done(on: account) { amount in
            account.assumeIsolated { $0.deposit(amount) }
        }
        source.resolve(5)
        try await deposited.value
        #expect(await account.balance == 5)
    }

    /// Like an event loop of NIO: a serial order on one thread, and a check whether the caller is on it.
    final class EventLoop: DelayedDispatcher {
        private let queue = DispatchQueue(label: "event loop")
        private let key = DispatchSpecificKey<Bool>()

        init() { queue.setSpecific(key: key, value: true) }

        var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

        func dispatch(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

        func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
            queue.dispatch(after: delay, work)
        }
    }

    @Test("an event loop is a dispatcher: callbacks, delays and timeouts run on it, in order")
    func onEventLoop() async throws {
        let loop = EventLoop()
        let source = Deferred<Int>()
        let places = SpinLocked<[Bool]>([])
        var last = Deferred.resolved(())
        for _ in 0..<10 {
            last = source.done(on: loop) { _ in places.withLock { $0.append(loop.isCurrent) } }
        }
        source.resolve(1)
        try await last.value
        #expect(places.withLock { $0 } == Array(repeating: true, count: 10))

        let attached = DispatchSemaphore(value: 0)
        loop.dispatch { attached.wait() }
        let later = Deferred.after(.zero, on: loop).map { loop.isCurrent }
        attached.signal()
        #expect(try await later.value)
        let never = Deferred<Bool>()
        #expect(try await never.timeout(.zero, on: loop) { loop.isCurrent }.value)
        _ = never
    }
}
