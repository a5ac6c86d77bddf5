internal import Synchronization

/// A permit of a lock or semaphore that `run` releases on every path.
protocol ReleasablePermit: Sendable {
    /// Whether others wait for it.
    var isAwaited: Bool { get }
    func release()
    /// As `release()`; `loop` notifies the next in the queue, later (F6).
    func release(in loop: inout DrainLoop)
}

/// The one implementation of `run` for ``DeferredLock``, ``DeferredSemaphore`` and ``DeferredFilesystemLock``.
extension Deferred where Value: ReleasablePermit {
    /// Returns the outcome of `body`, which runs once the permit is there; the permit is released when the Deferred
    /// that `body` returns is settled, before callbacks further down the chain run, except those of a list that
    /// then cancels what remains (C7).
    func running<R: DeferredConvertible>(
        _ body: @escaping @Sendable (Value) throws -> R, _ fileID: StaticString, _ line: UInt
    ) -> Deferred<R.Value> {
        let held = SpinLocked<Value?>(nil)
        let work = then(
            { permit in
                held.withLock { $0 = permit }
                return try body(permit)
            }, fileID: fileID, line: line)
        // On the loop that notifies this caller, also where the body's Deferred was settled already (no recursion).
        let end: @Sendable (inout DrainLoop) -> Void = { held.withLock { $0.take() }?.release(in: &$0) }
        let release = Payload.hook { loop, link in
            // If a list may now cancel those that wait for it, the list comes first: none of them starts only to be
            // cancelled (C7).
            let isAwaited = held.withLock { $0 }?.isAwaited == true
            if isAwaited, link.leadsToCancellingList { loop.jobs.last.append(end) } else { end(&loop) }
        }
        let site = DeferredDiagnostic.Location(.always, fileID, line)
        // One link more, so that the next holder's callback runs before the callbacks attached to this one, as in
        // Twisted.
        return Deferred<R.Value>(work.link.attach(release, site).attach(.adopt, site))
    }

    /// As `running`, with a body in a Task: a cancel ends the Deferred before the Task, which has the permit until it
    /// has ended.
    func asyncRunning<T: Sendable>(
        _ body: @escaping @Sendable () async throws -> T, _ fileID: StaticString, _ line: UInt
    ) -> Deferred<T> {
        CallersTask.calling { task in
            map({ PermitOfTwo(base: $0) }, fileID: fileID, line: line).running(
                { permit in
                    let operation = { @Sendable () async throws -> T in
                        defer { permit.release() }
                        return try await body()
                    }
                    return task.run(operation, fileID, line)
                }, fileID, line)
        }
    }
}

/// A permit that two have, and that is released when both have released it.
private final class PermitOfTwo<Base: ReleasablePermit>: ReleasablePermit {
    private let base: Base
    private let holders = Atomic(2)

    init(base: Base) { self.base = base }

    var isAwaited: Bool { base.isAwaited }

    func release() { DrainLoop.with { release(in: &$0) } }

    func release(in loop: inout DrainLoop) {
        if holders.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { base.release(in: &loop) }
    }
}
