/// A lock that one caller at a time can acquire (Twisted's `DeferredLock`): a ``DeferredSemaphore`` with a limit of 1.
///
/// ```swift
/// let lock = DeferredLock()
/// let saved = lock.run { read().then { write(changed($0)) } }     // no other write in between
/// ```
///
/// The lock is granted in the order in which it was asked for. A cancel of a waiting ``acquire(fileID:line:)`` or
/// `run` removes it from the queue.
///
/// Which task-local values closures see: <doc:TaskLocals>.
public final class DeferredLock: Sendable {
    /// The right to hold the lock, until `release()`, at the latest until the last reference to the permit is
    /// released.
    public typealias Permit = DeferredSemaphore.Permit

    private let semaphore = DeferredSemaphore(1)

    /// Creates a lock that is free.
    public init() {}

    /// Whether the lock is acquired.
    public var isLocked: Bool { semaphore.availableCount == 0 }

    /// How many callers wait for the lock.
    public var waitingCount: Int { semaphore.waitingCount }

    /// Waits for the lock; as ``DeferredSemaphore/acquire(units:fileID:line:)``.
    public func acquire(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred<Permit> {
        semaphore.acquire(fileID: fileID, line: line)
    }

    /// Returns a permit if the lock is free now and no caller waits for it.
    public func tryAcquire() -> Permit? { semaphore.tryAcquire() }

    /// Fails all callers that wait for the lock with `error`; as ``DeferredSemaphore/rejectWaiting(with:)``.
    public func rejectWaiting(with error: any Error) { semaphore.rejectWaiting(with: error) }

    /// Waits for the lock, runs `body`, and releases the lock when the Deferred that `body` returns is settled;
    /// see ``DeferredSemaphore``. May be left unused: a failure that nothing handles is reported.
    @discardableResult
    public func run<R: DeferredConvertible>(
        _ body: @escaping @Sendable () throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        semaphore.run(body, fileID: fileID, line: line)
    }

    /// Waits for the lock, runs `body` on the main actor, and releases the lock when the Deferred that `body` returns
    /// is settled. `body` does not run before this returns. Otherwise behaves as the form without `on:`.
    @discardableResult
    public func run<R: DeferredConvertible>(
        on _: MainActor.Type, _ body: @escaping @MainActor @Sendable () throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        semaphore.run(on: MainActor.self, body, fileID: fileID, line: line)
    }

    /// Waits for the lock, runs `body` on the main actor, and releases the lock when it has returned. `body` does not
    /// run before this returns. Otherwise behaves as the form without `on:`.
    @discardableResult
    public func syncRun<T: Sendable>(
        on _: MainActor.Type, _ body: @escaping @MainActor @Sendable () throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        semaphore.syncRun(on: MainActor.self, body, fileID: fileID, line: line)
    }

    /// Waits for the lock, runs `body`, and releases the lock when it has returned. May be left unused: a
    /// failure that nothing handles is reported.
    @discardableResult
    public func syncRun<T: Sendable>(
        _ body: @escaping @Sendable () throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        semaphore.syncRun(body, fileID: fileID, line: line)
    }

    /// Waits for the lock, runs an asynchronous `body` in a Task, and releases the lock when that has ended; see
    /// ``DeferredSemaphore/asyncRun(units:_:fileID:line:)``.
    @discardableResult
    public func asyncRun<T: Sendable>(
        _ body: @escaping @Sendable () async throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        semaphore.asyncRun(body, fileID: fileID, line: line)
    }
}
