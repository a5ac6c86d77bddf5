import DeferredTesting
import Foundation
import TestSupport
import Testing

@testable import Deferred

/// Work after a delay runs on the dispatcher, also if the timer expires before anything is attached to it: on
/// a busy machine, or with a delay of zero.
@Suite("Timers that expire early")
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
        let result = Deferred<Int>.retry(attempts: 3, delay: .none, on: dispatcher) { number in
            note()
            if number < 3 { throw TestError() }
            return .resolved(number)
        }
        #expect(try successResult(of: result) == 3)
        #expect(log.all == ["caller", "dispatcher", "dispatcher"])
    }

    @Test("repeating: every run but a first one now runs on the dispatcher", arguments: [true, false])
    func repeating(startsNow: Bool) throws {
        let result = Deferred.repeating(every: .zero, on: dispatcher, startsNow: startsNow) {
            note()
            if log.all.count == 4 { throw TestError() }
        }
        #expect(try failureResult(of: result) is TestError)
        #expect(log.all == [startsNow ? "caller" : "dispatcher"] + Array(repeating: "dispatcher", count: 3))
    }

    @Test("DeferredFilesystemLock: the file is locked on the dispatcher")
    func filesystemLock() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        let releasing = ReleasingDispatcher(path: path)
        let holder = try DeferredFilesystemLock(path: path, on: ManualClock()).tryAcquire()
        releasing.permit.withLock { $0 = holder }
        let waiting = DeferredFilesystemLock(path: path, on: releasing).acquire()
        #expect(releasing.isLockedAfterWork.withLock { $0 } == [true])
        try successResult(of: waiting).release()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    /// Its timers expire at once. It releases the permit before the work, and checks afterwards whether the
    /// work has acquired the lock.
    final class ReleasingDispatcher: DelayedDispatcher {
        let permit = SpinLocked<DeferredFilesystemLock.Permit?>(nil)
        let isLockedAfterWork = SpinLocked<[Bool]>([])
        private let path: String
        init(path: String) { self.path = path }

        func dispatch(_ work: @escaping @Sendable () -> Void) { work() }
        func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
            permit.withLock { $0.take() }?.release()
            work()
            let isLocked = FileManager.default.fileExists(atPath: path)
            isLockedAfterWork.withLock { $0.append(isLocked) }
            return EarlyDispatcher.Done()
        }
    }
}
