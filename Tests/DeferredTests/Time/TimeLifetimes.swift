import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

/// What takes time releases what it retains, whichever way it ends.
@Suite("The lifetimes of what takes time", .watchdog)
struct TimeLifetimes {
    typealias Tracked = LeakTracker.Tracked

    /// A way to use an object in something that takes time, and to end that.
    struct Ending: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let run: @Sendable (ManualClock, Tracked) -> Void

        init(_ name: String, _ run: @escaping @Sendable (ManualClock, Tracked) -> Void) {
            (testDescription, self.run) = (name, run)
        }

        /// A time limit for a source, which `end` ends.
        static func timeout(
            _ name: String,
            _ end: @escaping @Sendable (_ source: Deferred<Int>, Deferred<Int>, ManualClock) -> Void
        ) -> Ending {
            Ending("timeout, \(name)") { clock, object in
                let source = Deferred<Int>()
                let limited = source.timeout(.seconds(1), timer: clock) { object.returning(1) }
                end(source, limited, clock)
                limited.fail { _ in }
            }
        }

        /// Two attempts, of which each waits for a source, which `end` ends.
        static func retry(
            _ name: String, _ end: @escaping @Sendable (_ source: Deferred<Int>, Deferred<Int>) -> Void
        ) -> Ending {
            Ending("retry, \(name)") { clock, object in
                let source = Deferred<Int>()
                let result = Deferred.retry(attempts: 2, delay: .constant(.seconds(1)), timer: clock) {
                    object.returning(source)
                }
                end(source, result)
                clock.advance(by: .seconds(1))
                result.fail { _ in }
            }
        }

        /// Repeating work that fails in its second run.
        static func repeating(
            _ name: String, _ end: @escaping @Sendable (RepeatingWork, ManualClock) -> Void
        ) -> Ending {
            Ending("repeating, \(name)") { clock, object in
                let runs = SharedLog<Tracked>()
                let work = RepeatingWork(every: .seconds(1), timer: clock) {
                    runs.add(object)
                    if runs.all.count == 2 { throw TestError() }
                }
                work.reset()
                end(work, clock)
                work.deferred.fail { _ in }
            }
        }
    }

    static let endings = [
        Ending("after, resolved") { clock, object in
            _ = Deferred.after(.seconds(1), timer: clock, value: object)
            clock.advance(by: .seconds(1))
        },
        .timeout("in time") { source, _, _ in source.resolve(1) },
        .timeout("expired") { _, _, clock in clock.advance(by: .seconds(1)) },
        .timeout("cancelled") { _, limited, _ in limited.cancel() },
        .timeout("abandoned") { _, _, _ in },
        .retry("succeeded") { source, _ in source.resolve(1) },
        .retry("failed") { source, _ in source.reject(TestError()) },
        .retry("cancelled in an attempt") { _, result in result.cancel() },
        .retry("cancelled between attempts") { source, result in
            source.reject(TestError())
            result.cancel()
        },
        Ending("retry, abandoned twice") { clock, object in
            let result = Deferred<Int>.retry(attempts: 2, delay: .constant(.seconds(1)), timer: clock) {
                object.returning(Deferred())
            }
            clock.advance(by: .seconds(1))
            result.fail { _ in }
        },
        .repeating("cancelled") { work, _ in work.cancel() },
        .repeating("failed") { _, clock in clock.advance(by: .seconds(1)) },
        Ending("DeferredLatest, settled") { _, object in DeferredLatest().syncRun { object } },
    ]

    @Test("A2: what has ended retains nothing", arguments: endings)
    func released(ending: Ending) {
        let (clock, tracker) = (ManualClock(), LeakTracker())
        ending.run(clock, tracker.begin())
        #expect(tracker.alive == 0)
        #expect(clock.scheduled.isEmpty)
    }

    /// What waits on a clock.
    enum Waiting: CaseIterable {
        case repeating, idle, resetIdle, retry, latest

        func begin(on clock: ManualClock, _ object: Tracked) -> Deferred<Void> {
            switch self {
            case .repeating:
                let work = RepeatingWork(every: .seconds(1), timer: clock) { object.use() }
                work.reset()
                return work.deferred
            case .idle, .resetIdle:
                let idle = IdleTimer(after: .seconds(1), timer: clock)
                clock.advance(by: .milliseconds(500))
                if self == .resetIdle { idle.reset() }
                clock.advance(by: .milliseconds(499))
                return idle.deferred
            case .retry:
                let result = Deferred<Void>.retry(attempts: 9, delay: .constant(.seconds(1)), timer: clock) {
                    object.use()
                    throw TestError()
                }
                clock.advance(by: .seconds(1))
                return result
            case .latest: return DeferredLatest(debounce: .seconds(1), timer: clock).syncRun { object.use() }
            }
        }
    }

    @Test(
        "A1, F4, Q5: what waits on a clock that is released is abandoned, and freed",
        arguments: Waiting.allCases)
    func clockReleased(kind: Waiting) throws {
        let tracker = LeakTracker()
        do {
            var clock: ManualClock? = ManualClock()
            let waiting = kind.begin(on: clock!, tracker.begin())
            try expectNoResult(waiting)
            clock = nil
            #expect(try failureResult(of: waiting) as? DeferredError == .abandoned)
        }
        #expect(tracker.alive == 0)
    }

    @Test("U1: an abandonment of work that takes time is reported only if something waits for it")
    func unawaited() {
        for isAwaited in [false, true] {
            let reports = diagnostics {
                let clock = ManualClock()
                let work = [
                    RepeatingWork(every: .seconds(1), timer: clock) {}.deferred,
                    IdleTimer(after: .seconds(1), timer: clock).deferred,
                    Deferred<Void>.retry(timer: clock) { throw TestError() },
                ]
                if isAwaited { for work in work { work.done {} } }
            }
            #expect(reports.count == (isAwaited ? 3 : 0), "\(reports)")
        }
    }
}
