public import Dispatch

/// A queue is a dispatcher: `then(on: .main) { … }`, `then(on: .global()) { … }`.
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

    /// `asyncAfter` would do, but keeps what it was given until it is due: an hour for every request with a
    /// timeout of an hour. A cancelled source goes at once.
    ///
    /// The source's handler holds this, and this holds the source, until the one has fired or the other is
    /// cancelled.
    private final class TimedWork: DelayedWork {
        private let work: Guarded<(@Sendable () -> Void)?>
        /// Sound as `nonisolated(unsafe)`: once it has been activated, nothing is done with it but to cancel
        /// it, which Dispatch allows from any thread; and nobody else has this object until then.
        private nonisolated(unsafe) let timer: any DispatchSourceTimer

        init(_ work: @escaping @Sendable () -> Void, on queue: DispatchQueue) {
            self.work = Guarded(work)
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

    /// A global queue of the given quality of service.
    public static func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue {
        DispatchQueue.global(qos: qos)
    }
}

extension DispatchTimeInterval {
    /// The same span, to the nanosecond, as far as it can be told: about 292 years.
    package init(_ duration: Duration) {
        guard duration > .zero else {
            self = .nanoseconds(0)
            return
        }
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (total, overflow2) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        self = overflow || overflow2 ? .never : .nanoseconds(Int(clamping: total))
    }
}
