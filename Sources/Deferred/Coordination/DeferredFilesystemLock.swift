public import Dispatch

/// A lock between processes (Twisted's `DeferredFilesystemLock`), by a file whose path all of them use.
///
/// ```swift
/// let lock = DeferredFilesystemLock(path: "/var/run/importer.lock")
/// let done = lock.run(timeout: .seconds(10)) { importEverything() }
/// done.fail { print($0) }     // … is locked by process 4711
/// ```
///
/// The lock is the kernel's, so that it ends with the process that has it, however that ends; another process then
/// acquires it. The file contains the number of the process, in 11 digits, and exists only while the lock is acquired;
/// where the folder cannot be written, it stays, empty. Whatever a process leaves that is killed at any moment, the
/// next one acquires the lock. Nothing notifies a process when another one releases the lock: one that waits tries
/// again at intervals. Within one process, the callers that wait for one object acquire the lock in the order in which
/// they asked, and only the first tries. Not for a file system that several machines share, unless that supports
/// `flock`.
///
/// The file must be a regular file that was made by such a lock, or not exist: symbolic links are not followed, and
/// any other file is left unchanged. Use a folder that only the users of the lock can write to.
///
/// Which task-local values closures see: <doc:TaskLocals>.
public final class DeferredFilesystemLock: Sendable {
    /// The absolute path of the file. A relative path is resolved when the lock is created.
    public let path: String
    private let interval: Duration
    private let timer: any DelayedDispatcher
    private let line = DeferredLock()

    /// Creates a lock by the file at `path`. The file is created when the lock is acquired; its folder has to exist.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - interval: How often to try whether the lock is free again.
    ///   - timer: Measures that time and the time of timeouts; all tries but the first run on it.
    public init(
        path: String, lookingEvery interval: Duration = .milliseconds(200),
        timer: any DelayedDispatcher = DispatchQueue.global()
    ) {
        self.path = LockFile.absolute(path)
        self.interval = interval
        self.timer = timer.retainedByWork
    }

    /// Returns the lock if it is free now; throws ``Failure`` if it is not. Makes a few calls of the file system, on
    /// this thread.
    public func tryAcquire() throws(Failure) -> Permit {
        guard let place = line.tryAcquire() else { throw .held(path: path, owner: LockFile.currentProcess) }
        return try lock(place)
    }

    /// Waits for the lock. A cancel while it waits removes it from the queue.
    ///
    /// A lock that cannot be had however long one waits fails at once, with ``Failure/unusable(path:reason:)``.
    ///
    /// - Parameter timeout: How long to wait at most; after that it fails with ``Failure/held(path:owner:)``. Without
    ///   it, it waits without limit.
    public func acquire(
        timeout: Duration? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<Permit> {
        let permit = self.line.acquire(fileID: fileID, line: line).then(
            { [self] place in
                // Only the first in the queue of this process tries until it has locked the file.
                Deferred<Permit>.retry(
                    attempts: .max, delay: .custom { [interval] _, _ in interval }, timer: timer,
                    when: { if case Failure.held = $0 { true } else { false } },
                    { [self] in .resolved(try lock(place)) })
            }, fileID: fileID, line: line)
        guard let timeout else { return permit }
        return permit.timeout(
            timeout, timer: timer,
            { [path] in throw Failure.held(path: path, owner: LockFile.owner(at: path)) },
            fileID: fileID, line: line)
    }

    /// Waits for the lock, runs `body`, and releases the lock when the Deferred that `body` returns is settled.
    /// What `body` throws fails the returned Deferred. May be left unused: a failure that nothing handles is reported.
    @discardableResult
    public func run<R: DeferredConvertible>(
        timeout: Duration? = nil, _ body: @escaping @Sendable () throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        acquire(timeout: timeout, fileID: fileID, line: line).running({ _ in try body() }, fileID, line)
    }

    /// Waits for the lock, runs `body` on the main actor, and releases the lock when the Deferred that `body` returns
    /// is settled. `body` does not run before this returns. Otherwise behaves as the form without `on:`.
    @discardableResult
    public func run<R: DeferredConvertible>(
        timeout: Duration? = nil, on _: MainActor.Type, _ body: @escaping @MainActor @Sendable () throws -> R,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<R.Value> {
        run(
            timeout: timeout, { Deferred<Void>.following(on: MainActor.self, fileID, line, body) },
            fileID: fileID,
            line: line)
    }

    /// Waits for the lock, runs `body` on the main actor, and releases the lock when it has returned. `body` does not
    /// run before this returns. Otherwise behaves as the form without `on:`.
    @discardableResult
    public func syncRun<T: Sendable>(
        timeout: Duration? = nil, on _: MainActor.Type, _ body: @escaping @MainActor @Sendable () throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        run(
            timeout: timeout, { Deferred<Void>.catching(on: MainActor.self, fileID, line, body) },
            fileID: fileID,
            line: line)
    }

    /// Waits for the lock, runs `body`, and releases the lock when it has returned. May be left unused: a
    /// failure that nothing handles is reported.
    @discardableResult
    public func syncRun<T: Sendable>(
        timeout: Duration? = nil, _ body: @escaping @Sendable () throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        run(timeout: timeout, { Deferred(catching: body) }, fileID: fileID, line: line)
    }

    /// Waits for the lock, runs an asynchronous `body` in a Task, and releases the lock when that has ended. A
    /// cancel cancels the Task, and fails the returned Deferred at once; the lock is released when `body` has returned.
    @discardableResult
    public func asyncRun<T: Sendable>(
        timeout: Duration? = nil, _ body: @escaping @Sendable () async throws -> T,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> Deferred<T> {
        acquire(timeout: timeout, fileID: fileID, line: line).asyncRunning(body, fileID, line)
    }

    private func lock(_ place: DeferredLock.Permit) throws(Failure) -> Permit {
        do throws(LockFile.Failure) {
            return Permit(try LockFile(path), place)
        } catch {
            switch error {
            case .held(let owner): throw .held(path: path, owner: owner)
            case .unusable(let reason): throw .unusable(path: path, reason: reason)
            }
        }
    }
}

extension DeferredFilesystemLock {
    /// The right to hold the lock, until ``release()``, at the latest until the last reference to the permit is
    /// released: keep a reference to it.
    public final class Permit: ReleasablePermit {
        /// The process that died while it had the lock before, if one did: its work may be incomplete. Never one that
        /// has released it. Nil also where a power failure has removed the number.
        public let predecessor: Int32?
        private let held: SpinLocked<(file: LockFile, place: DeferredLock.Permit)?>

        fileprivate init(_ file: LockFile, _ place: DeferredLock.Permit) {
            predecessor = file.predecessor
            held = SpinLocked((file, place))
        }

        /// Releases the lock. The next in the queue of this process acquires it as described at
        /// ``DeferredSemaphore/Permit/release()``. Calling it again does nothing.
        public func release() { takePlace()?.release() }

        func release(in loop: inout DrainLoop) { takePlace()?.release(in: &loop) }

        /// Releases the file, once, and returns the place in the queue of this process.
        private func takePlace() -> DeferredLock.Permit? {
            guard let held = held.withLock({ $0.take() }) else { return nil }
            held.file.release()
            return held.place
        }

        var isAwaited: Bool { held.withLock { $0?.place }?.isAwaited ?? false }

        deinit { release() }
    }

    /// Why the lock cannot be acquired.
    public enum Failure: Error, Hashable {
        /// Another process has it: `owner` is that process, nil if its number is not known yet.
        case held(path: String, owner: Int32?)
        /// This file cannot be used as a lock, or cannot be written: the disk may be full.
        case unusable(path: String, reason: String)
    }
}

extension DeferredFilesystemLock.Failure: CustomStringConvertible {
    /// The reason in words.
    public var description: String {
        switch self {
        case .held(let path, let owner?): "\(path) is locked by process \(owner)"
        case .held(let path, nil): "\(path) is locked by another process"
        case .unusable(let path, let reason): "\(path) cannot be used as a lock: \(reason)"
        }
    }
}
