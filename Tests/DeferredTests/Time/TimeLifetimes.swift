import DeferredTesting
import TestSupport
import Testing

@testable import Deferred

/// What takes time releases what it retains, whichever way it ends.
@Suite("The lifetimes of what takes time")
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
                let limited = source.timeout(.seconds(1), on: clock) { object.returning(1) }
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
                let result = Deferred.retry(attempts: 2, delay: .constant(.seconds(1)), on: clock) {
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
                let work = RepeatingWork(every: .seconds(1), on: clock) {
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
            _ = Deferred.after(.seconds(1), on: clock, value: object)
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
            let result = Deferred<Int>.retry(attempts: 2, delay: .constant(.seconds(1)), on: clock) {
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

    @Test("A1, Q5: what waits on a dispatcher that is released is abandoned, and freed", arguments: 0..<4)
    func dispatcherReleased(kind: Int) throws {
        let tracker = LeakTracker()
        do {
            let object = tracker.begin()
            var clock: ManualClock? = ManualClock()
            let dispatcher = UnownedClock(clock: clock!)
            let waiting: Deferred<Void>
            switch kind {
            case 0:
                let work = RepeatingWork(every: .seconds(1), on: dispatcher) { object.use() }
                work.reset()
                waiting = work.deferred
            case 1:
                waiting = DeferredLatest(debounce: .seconds(1), on: dispatcher).syncRun { object.use() }
            case 2:
                waiting = IdleTimer(after: .seconds(1), on: dispatcher).deferred
            default:
                let idle = IdleTimer(after: .seconds(1), on: dispatcher)
                clock?.advance(by: .milliseconds(500))
                idle.postpone()
                clock?.advance(by: .milliseconds(500))
                waiting = idle.deferred
            }
            clock = nil
            #expect(try failureResult(of: waiting) as? DeferredError == .abandoned)
        }
        #expect(tracker.alive == 0)
    }
}
