public import Dispatch

/// A queue is a dispatcher: `done(on: .main) { … }`, `map(on: .global()) { … }`.
extension DispatchQueue: DelayedDispatcher {
    /// Runs `work` with `async`.
    public func dispatch(_ work: @escaping @Sendable () -> Void) {
        async(execute: work)
    }

    /// Runs `work` from a timer source, on a clock that stops while the machine sleeps.
    public func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
        let pending = TimedWork(work, on: self)
        pending.start(after: delay)
        return pending
    }

    /// `asyncAfter` retains its closure until it is due, which would be an hour for every request with a time
    /// limit of an hour. A cancelled timer source is released at once.
    ///
    /// The source's handler and this object retain each other until the timer expires or is cancelled.
    private final class TimedWork: DelayedWork {
        private let work: SpinLocked<(@Sendable () -> Void)?>
        /// Sound as `nonisolated(unsafe)`: after its activation the timer is only cancelled, which Dispatch
        /// allows from any thread, and before that no other thread has a reference to this object.
        private nonisolated(unsafe) let timer: any DispatchSourceTimer

        init(_ work: @escaping @Sendable () -> Void, on queue: DispatchQueue) {
            self.work = SpinLocked(work)
            timer = DispatchSource.makeTimerSource(queue: queue)
        }

        func start(after delay: Duration) {
            timer.setEventHandler { self.run() }
            timer.schedule(deadline: .now() + DispatchTimeInterval(delay), leeway: .milliseconds(1))
            timer.activate()
        }

        private func run() {
            timer.cancel()
            let work = work.withLock { $0.take() }
            work?()
        }

        func cancel() {
            timer.cancel()
            let work = work.withLock { $0.take() }
            _ = consume work
        }
    }
}

extension Dispatcher where Self == DispatchQueue {
    /// The main queue.
    public static var main: DispatchQueue { DispatchQueue.main }

    /// Returns the global queue of the given quality of service.
    public static func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue {
        DispatchQueue.global(qos: qos)
    }
}

extension DispatchTimeInterval {
    /// Creates an interval of the same length, rounded up to the finest unit in which its count fits in an
    /// `Int`: nanoseconds, or where an `Int` has 32 bits and the interval is longer than 2.1 s, a coarser
    /// one; `.never` beyond 292 years, or 68 where an `Int` has 32 bits.
    package init(_ duration: Duration) {
        self.init(duration, countedIn: Int.self)
    }

    /// As `init(_:)`, for counts of another size: in tests, that of another machine.
    package init<Count: FixedWidthInteger>(_ duration: Duration, countedIn type: Count.Type) {
        let (seconds, attoseconds) = max(duration, .zero).components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (total, overflow2) = whole.addingReportingOverflow((attoseconds + 999_999_999) / 1_000_000_000)
        let units: [(nanoseconds: Int64, interval: (Int) -> DispatchTimeInterval)] = [
            (1, DispatchTimeInterval.nanoseconds), (1_000, DispatchTimeInterval.microseconds),
            (1_000_000, DispatchTimeInterval.milliseconds), (1_000_000_000, DispatchTimeInterval.seconds),
        ]
        for unit in units where !overflow && !overflow2 {
            let count = total / unit.nanoseconds + (total % unit.nanoseconds == 0 ? 0 : 1)
            if Count(exactly: count) != nil, let count = Int(exactly: count) {
                self = unit.interval(count)
                return
            }
        }
        self = .never
    }
}
