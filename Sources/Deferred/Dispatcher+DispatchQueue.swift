public import Dispatch

/// A queue is a dispatcher: `then(on: .main) { … }`, `then(on: .global()) { … }`.
extension DispatchQueue: DelayedDispatcher {
    /// Runs `work` with `async`.
    public func dispatch(_ work: @escaping @Sendable () -> Void) {
        async(execute: work)
    }

    /// Runs `work` with `asyncAfter`, on a clock that stops while the machine sleeps.
    public func dispatch(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any DelayedWork {
        let pending = QueuedWork(work)
        asyncAfter(deadline: .now() + DispatchTimeInterval(delay)) { pending.run() }
        return pending
    }

    /// What waits in the queue is only a shell once it has been cancelled: what the work held is let go at once.
    private final class QueuedWork: DelayedWork {
        private let work: Guarded<(@Sendable () -> Void)?>

        init(_ work: @escaping @Sendable () -> Void) { self.work = Guarded(work) }

        func run() {
            let work = work.withLock { $0.take() }
            work?()
        }

        func cancel() {
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
