/// Work for a dispatcher that runs once, at the latest when the dispatcher releases it: a finalizer may be
/// what releases a resource, and consumers may wait for an outcome that exists.
final class RunOnRelease: Sendable {
    private let work: SpinLocked<(@Sendable () -> Void)?>

    init(_ work: @escaping @Sendable () -> Void) { self.work = SpinLocked(work) }

    deinit { run() }

    func run() {
        let work = work.withLock { $0.take() }
        work?()
    }
}

extension Dispatcher {
    /// Submits work that runs even if this dispatcher releases it without running it: then where it is
    /// released.
    func dispatchGuaranteed(_ work: @escaping @Sendable () -> Void) {
        let work = RunOnRelease(work)
        dispatch { work.run() }
    }
}
