/// Work that runs once, when `run` is called, unless it is cancelled before.
package final class OneTimeWork: Sendable {
    private let work: SpinLocked<(@Sendable () -> Void)?>
    private let runsOnRelease: Bool

    /// - Parameter runsOnRelease: Whether it runs also where it is released without having been run or cancelled.
    package init(runsOnRelease: Bool = false, _ work: @escaping @Sendable () -> Void) {
        self.work = SpinLocked(work)
        self.runsOnRelease = runsOnRelease
    }

    deinit { if runsOnRelease { run() } }

    package func run() { take()?() }

    /// Releases the work without running it.
    package func cancel() { _ = take() }

    private func take() -> (@Sendable () -> Void)? { work.withLock { $0.take() } }
}

extension Dispatcher {
    /// Submits work that runs even if this dispatcher releases it without running it: then where it is
    /// released. A finalizer may be what releases a resource, and consumers may wait for an outcome that exists.
    func dispatchGuaranteed(_ work: @escaping @Sendable () -> Void) {
        let work = OneTimeWork(runsOnRelease: true, work)
        dispatch { work.run() }
    }
}
