/// One at a time (Twisted's `DeferredLock`): a ``DeferredSemaphore`` with a limit of 1.
///
/// ```swift
/// let lock = DeferredLock()
/// let saved = lock.run { read().then { write(changed($0)) } }     // nobody writes in between
/// ```
///
/// Who comes first is served first, and whoever waits may cancel.
public final class DeferredLock: Sendable {
    /// The right to hold the lock. It ends with `release()`, at the latest when the last reference to it
    /// goes.
    public typealias Permit = DeferredSemaphore.Permit

    private let semaphore = DeferredSemaphore(1)

    /// A lock that is free.
    public init() {}

    /// Whether somebody holds it.
    public var isLocked: Bool { semaphore.available == 0 }

    /// How many wait for it.
    public var waitingCount: Int { semaphore.waitingCount }

    /// The lock, when it is this one's turn; as ``DeferredSemaphore/acquire(fileID:line:)``.
    public func acquire(fileID: StaticString = #fileID, line: UInt = #line) -> Deferred<Permit> {
        semaphore.acquire(fileID: fileID, line: line)
    }

    /// The lock, if it is free now and nobody waits for it.
    public func tryAcquire() -> Permit? { semaphore.tryAcquire() }

    /// Runs `body` with the lock, and lets go of it when the Deferred that it returns has an outcome; as
    /// ``DeferredSemaphore/run(_:fileID:line:)``.
    public func run<T: Sendable>(
        _ body: @escaping @Sendable () throws -> Deferred<T>,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        semaphore.run(body, fileID: fileID, line: line)
    }

    /// As the form above, for a `body` that is done when it returns.
    public func run<T: Sendable>(
        _ body: @escaping @Sendable () throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        semaphore.run(body, fileID: fileID, line: line)
    }

    /// Done when `body` has run. May be left alone: a failure that nobody handles is reported.
    @discardableResult
    public func run(
        _ body: @escaping @Sendable () throws -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Void> {
        semaphore.run(body, fileID: fileID, line: line)
    }

    /// What an asynchronous `body` gives, which runs in a Task; a cancel cancels that.
    @_disfavoredOverload
    public func run<T: Sendable>(
        _ body: @escaping @Sendable () async throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        semaphore.run(body, fileID: fileID, line: line)
    }
}
