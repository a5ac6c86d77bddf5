import DeferredTesting

@testable import Deferred

/// Keeps the time of a manual clock, and lets a test act at moments at which another thread may.
struct ObservedClock: DelayedDispatcher {
    typealias Moment = SpinLocked<(@Sendable () -> Void)?>

    let clock: ManualClock
    /// How much later than asked for timers expire.
    var lateness = Duration.zero
    let beforeElapsed = Moment(nil)
    /// When the time was read, and the caller does not have it yet.
    let afterElapsed = Moment(nil)
    let beforeTimer = Moment(nil)

    /// Calls `body` once, when that moment has come `count` times.
    func at(_ moment: Moment, _ count: Int = 1, _ body: @escaping @Sendable () -> Void) {
        moment.withLock { $0 = count == 1 ? body : { at(moment, count - 1, body) } }
    }

    var elapsed: Duration {
        call(beforeElapsed)
        let time = clock.elapsed
        call(afterElapsed)
        return time
    }

    func dispatch(_ work: @escaping @Sendable () -> Void) { clock.dispatch(work) }

    func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
        call(beforeTimer)
        return clock.dispatch(after: delay + lateness, work)
    }

    private func call(_ moment: Moment) {
        let body = moment.withLock { $0.take() }
        body?()
    }
}
