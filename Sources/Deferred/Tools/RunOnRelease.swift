/// Work that runs once: when `run` is called, or when this is released without having been disarmed.
package final class RunOnRelease: Sendable {
    private let work: SpinLocked<(@Sendable () -> Void)?>

    package init(_ work: @escaping @Sendable () -> Void) { self.work = SpinLocked(work) }

    deinit { run() }

    package func run() {
        let work = work.withLock { $0.take() }
        work?()
    }

    package func disarm() {
        // Its captures are released without the lock.
        let released = work.withLock { $0.take() }
        _ = consume released
    }
}

extension Dispatcher {
    /// Submits work that runs even if this dispatcher releases it without running it: then where it is
    /// released. A finalizer may be what releases a resource, and consumers may wait for an outcome that exists.
    func dispatchGuaranteed(_ work: @escaping @Sendable () -> Void) {
        let work = RunOnRelease(work)
        dispatch { work.run() }
    }
}
