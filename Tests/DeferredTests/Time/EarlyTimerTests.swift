import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

/// Work after a delay runs on the dispatcher, also if the timer expires before anything is attached to it: on
/// a busy machine, or with a delay of zero.
@Suite("Timers that expire early", .watchdog)
struct EarlyTimerTests {
    let dispatcher = EarlyDispatcher()
    let log = SharedLog<String>()

    /// A dispatcher whose timers expire before `dispatch(after:)` returns.
    final class EarlyDispatcher: DelayedDispatcher {
        private let depth = SpinLocked(0)
        /// Whether the caller runs as work of this dispatcher.
        var isCurrent: Bool { depth.withLock { $0 > 0 } }

        func dispatch(_ work: @escaping @Sendable () -> Void) {
            depth.withLock { $0 += 1 }
            work()
            depth.withLock { $0 -= 1 }
        }

        func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
            dispatch(work)
            return Done()
        }

        struct Done: DelayedWork { func cancel() {} }
    }

    private func note() { log.add(dispatcher.isCurrent ? "dispatcher" : "caller") }

    @Test("retry: every attempt but the first runs on the dispatcher")
    func retry() throws {
        let result = Deferred<Int>.retry(attempts: 3, delay: .none, timer: dispatcher) { number in
            note()
            if number < 3 { throw TestError() }
            return .resolved(number)
        }
        #expect(try successResult(of: result) == 3)
        #expect(log.all == ["caller", "dispatcher", "dispatcher"])
    }

    @Test("repeating: every run but a first one now runs on the dispatcher", arguments: [true, false])
    func repeating(startsNow: Bool) throws {
        let result = Deferred.repeating(every: .zero, timer: dispatcher, startsNow: startsNow) {
            note()
            if log.all.count == 4 { throw TestError() }
        }
        #expect(try failureResult(of: result) is TestError)
        #expect(log.all == [startsNow ? "caller" : "dispatcher"] + Array(repeating: "dispatcher", count: 3))
    }
}
